from nvcr.io/nvidia/pytorch:23.12-py3 AS base
run echo "lower case"
