def greeting(name: str) -> str:
    return f"Hello from {name}"
