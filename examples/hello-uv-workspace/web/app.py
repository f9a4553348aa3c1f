from flask import Flask
from greeting import greeting

app = Flask(__name__)


@app.get("/")
def page():
    return greeting("a uv workspace")


@app.get("/api/hello")
def api():
    return {"hello": "uv"}
