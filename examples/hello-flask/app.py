from flask import Flask

app = Flask(__name__)


@app.get("/")
def page():
    return "Hello from Flask"


@app.get("/api/hello")
def api():
    return {"hello": "Flask"}
