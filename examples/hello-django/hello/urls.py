from django.http import HttpResponse
from django.urls import path

from .models import Visit


def page(request):
    Visit.objects.create()
    return HttpResponse(f"Hello from Django, visit {Visit.objects.count()}")


urlpatterns = [path("", page)]
