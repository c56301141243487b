"""A store that speaks S3, for tests: in memory, on a free port of loopback, with the bucket `crawl`.

Prints its URL when it is ready and ends when its standard input is closed.
"""

import sys

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = f"http://{host}:{port}"
boto3.client(
    "s3",
    endpoint_url=url,
    region_name="us-east-1",
    aws_access_key_id="test",
    aws_secret_access_key="test",
).create_bucket(Bucket="crawl")
print(url, flush=True)
sys.stdin.read()
server.stop()
