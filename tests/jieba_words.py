"""Reads a JSON list of texts from standard input and prints the list of their words by PyPI's jieba: its own dictionary, HMM on."""

import json
import logging
import sys

import jieba

jieba.setLogLevel(logging.ERROR)
print(json.dumps([list(jieba.cut(text)) for text in json.load(sys.stdin)]))
