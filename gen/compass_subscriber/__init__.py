# Made by proto/generate.py from proto/. Do not edit.
