from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

app = FastAPI()


@app.get("/", response_class=PlainTextResponse)
def page():
    return "Hello from FastAPI"


@app.get("/api/hello/{name}")
def api(name: str):
    return {"hello": name}
