"""Settings: SQLite where the app may write, static files from the app itself."""

import os
import secrets
from pathlib import Path

BASE = Path(__file__).resolve().parent

# There are no sessions, so a key that changes with each start breaks nothing.
SECRET_KEY = os.environ.get("SECRET_KEY") or secrets.token_urlsafe(50)
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "hello.urls"
WSGI_APPLICATION = "hello.wsgi.application"
INSTALLED_APPS = ["django.contrib.staticfiles", "hello"]
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "whitenoise.middleware.WhiteNoiseMiddleware"]
# Put the database onto a volume to keep it longer than an instance: $FAIRLEAD_VOLUMES/<name>.
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": Path.home() / "hello.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
STATIC_ROOT = BASE.parent / "staticfiles"
