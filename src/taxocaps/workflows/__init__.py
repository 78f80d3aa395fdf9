"""What a user can do, one function a job: paths and configuration in, results as dataclasses out."""
