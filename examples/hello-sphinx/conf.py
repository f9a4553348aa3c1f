project = "Hello"
