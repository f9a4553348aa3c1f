import { Component } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';

@Component({ selector: 'hello-page', template: '<h1>Hello from Angular</h1>' })
class HelloPage {}

bootstrapApplication(HelloPage).catch((error: unknown) => console.error(error));
