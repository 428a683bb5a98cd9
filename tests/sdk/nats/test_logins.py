"""Logging in to a broker: TLS with and without a client's certificate, NKeys, what is wrong."""

from __future__ import annotations

import asyncio

import nkeys
import pytest
import trustme

from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.errors import InvalidArgument, TransportError, Unauthenticated
from naas_abi_sdk.tokens import GivenToken
from naas_abi_sdk.transport import Transport
from tests.support.nats_server import nats_server


def max_payload(settings, seconds=10):
    """Connect, and return what only a connected client knows."""

    async def connect():
        transport = Transport(settings, token=GivenToken("t"), timeout=seconds)
        try:
            return await transport.max_payload()
        finally:
            await transport.close()

    return asyncio.run(connect())


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def files(authority, tmp_path):
    """The authority's certificate, and certificates and keys of a server and a client."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("127.0.0.1", "client"):
        issued = authority.issue_cert(name)
        issued.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
        issued.private_key_pem.write_to_path(tmp_path / f"{name}.key")
    return tmp_path


def tls_of(files, *, verify):
    return {
        "cert_file": str(files / "127.0.0.1.pem"),
        "key_file": str(files / "127.0.0.1.key"),
        "ca_file": str(files / "ca.pem"),
        "verify": verify,
    }


def test_a_broker_with_tls_is_trusted_by_its_authority(files):
    with nats_server(max_payload=4096, tls=tls_of(files, verify=False)) as server:
        url = server.url.replace("nats://", "tls://")
        assert max_payload(BrokerSettings(url, tls_ca_file=files / "ca.pem")) == 4096
        with pytest.raises(Unauthenticated, match=r"not trusted.*tls_ca_file"):
            max_payload(url)


def test_a_broker_may_ask_for_a_certificate(files):
    with nats_server(max_payload=4096, tls=tls_of(files, verify=True)) as server:
        url = server.url.replace("nats://", "tls://")
        trusting = BrokerSettings(url, tls_ca_file=files / "ca.pem")
        with pytest.raises(TransportError):
            max_payload(trusting, seconds=1)
        known = BrokerSettings(
            url,
            tls_ca_file=files / "ca.pem",
            tls_certificate_file=files / "client.pem",
            tls_key_file=files / "client.key",
        )
        assert max_payload(known) == 4096


def test_an_nkey_logs_in_and_another_does_not(tmp_path):
    pairs = {}
    for name, first in (("known", 1), ("unknown", 2)):
        seed = nkeys.encode_seed(bytes([first]) * 32, nkeys.PREFIX_BYTE_USER)
        (tmp_path / name).write_bytes(seed)
        pairs[name] = nkeys.from_seed(seed).public_key.decode()
    users = [{"nkey": pairs["known"]}]
    with nats_server(max_payload=4096, authorization={"users": users}) as server:
        assert max_payload(BrokerSettings(server.url, nkey_seed_file=tmp_path / "known")) == 4096
        with pytest.raises(Unauthenticated, match="refuses the login"):
            max_payload(BrokerSettings(server.url, nkey_seed_file=tmp_path / "unknown"))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"nkey_seed_file": "no-such.seed"}, "no-such"),
        ({"credentials_file": "no-such.creds"}, "no-such"),
        ({"tls_ca_file": "no-such-ca.pem"}, "no-such-ca"),
        ({"tls_ca_file": __file__}, "test_logins"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(wrong, named):
    with pytest.raises(Unauthenticated, match=named):
        max_payload(BrokerSettings("nats://127.0.0.1:1", **wrong))


@pytest.mark.parametrize("url", ["", "127.0.0.1:4222", "http://a:1", "nats://:pw@:x", "nats://"])
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url):
    with pytest.raises(InvalidArgument, match="nats://host:4222") as failure:
        BrokerSettings(f"nats://127.0.0.1:4222,{url}")
    assert ":pw@" not in str(failure.value)


def test_a_place_shows_no_password():
    settings = BrokerSettings("nats://me:s3cret@one:4222, tls://two", password="s3cret")
    assert settings.place == "nats://one:4222,tls://two:4222"
    assert "s3cret" not in settings.place
