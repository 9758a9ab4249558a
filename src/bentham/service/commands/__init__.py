"""Commands: plain functions from a turn and a request body to events."""

from bentham.service.commands.datasets import rename_dataset
from bentham.service.commands.devices import (
    complete_trial,
    fail_trial,
    leave_device,
    register_device,
    release_trial,
)
from bentham.service.commands.fits import request_fit
from bentham.service.commands.studies import (
    close_study,
    create_study,
    pause_study,
    rename_study,
    reopen_study,
    resume_study,
)
from bentham.service.commands.tenants import (
    change_tenant,
    create_tenant,
    import_history,
    issue_token,
    parsed_history,
    revoke_token,
)

__all__ = [
    "change_tenant",
    "close_study",
    "complete_trial",
    "create_study",
    "create_tenant",
    "fail_trial",
    "import_history",
    "issue_token",
    "leave_device",
    "parsed_history",
    "pause_study",
    "register_device",
    "release_trial",
    "rename_dataset",
    "rename_study",
    "reopen_study",
    "request_fit",
    "resume_study",
    "revoke_token",
]
