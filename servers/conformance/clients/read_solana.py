"""Reads what the contract offers through `solana` for Python: python read_solana.py URL prints one JSON object.

getBlocks takes no commitment in this client, and getBlocksWithLimit has no method, so that one goes through the client's
own raw request. Health is requested both ways.
"""

import asyncio
import json
import sys

from solana.rpc.async_api import AsyncClient
from solana.rpc.jsonrpc import JsonRpcRequest
from solders.pubkey import Pubkey

ACCOUNT = Pubkey.from_string("4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ")
ABSENT = Pubkey([7] * 32)


def balance(answer):
    context = {"slot": answer.context.slot, "apiVersion": answer.context.api_version}
    return {"context": context, "value": answer.value}


async def read(client):
    async def raw(method, params):
        return await client.send_rpc_request(JsonRpcRequest(method=method, params=params), object)

    async def code(call):
        try:
            await call
        except Exception as error:
            return getattr(error, "code", None) or repr(error)
        return "no error"

    version = (await client.get_version()).value
    return {
        "balance": balance(await client.get_balance(ACCOUNT)),
        "balance_processed": balance(await client.get_balance(ACCOUNT, "processed")),
        "balance_confirmed": balance(await client.get_balance(ACCOUNT, "confirmed")),
        "balance_finalized": balance(await client.get_balance(ACCOUNT, "finalized")),
        "balance_absent": balance(await client.get_balance(ABSENT)),
        "blocks_from": (await client.get_blocks(400)).value,
        "blocks_range": (await client.get_blocks(5, 10)).value,
        "blocks_with_limit": await raw("getBlocksWithLimit", [5, 3]),
        "slot": (await client.get_slot()).value,
        "slot_processed": (await client.get_slot("processed")).value,
        "slot_confirmed": (await client.get_slot("confirmed")).value,
        "height": (await client.get_block_height()).value,
        "height_confirmed": (await client.get_block_height("confirmed")).value,
        "connected": await client.is_connected(),
        "health": await raw("getHealth", None),
        "version": {"feature-set": version.feature_set, "solana-core": version.solana_core},
        "error_too_early": await code(raw("getSlot", [{"minContextSlot": 1_000_000}])),
        "error_bad_commitment": await code(raw("getBlocks", [5, 10, {"commitment": "processed"}])),
    }


async def main(url):
    async with AsyncClient(url) as client:
        print(json.dumps(await read(client)))


asyncio.run(main(sys.argv[1]))
