import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

@Controller()
class HelloController {
  @Get()
  page() {
    return 'Hello from NestJS';
  }

  @Get('api/hello')
  api() {
    return { hello: 'NestJS' };
  }
}

@Module({ controllers: [HelloController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT));
