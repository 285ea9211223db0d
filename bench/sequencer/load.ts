import { setTimeout as delay } from 'node:timers/promises'
import { signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { fromHex, toHex } from '../../src/lib/hex.ts'
import type { Endpoints } from '../../testnet/runner/events.ts'

/** Batches of transfers in each second, so that the load is even. */
const PARTS_PER_SECOND = 10

/** Sends this many transfers a second, from all accounts in turn, until the signal aborts. */
export async function sendLoad(eth: RpcClient, testnet: Endpoints, rate: number, signal: AbortSignal): Promise<number> {
  const senders = await Promise.all(
    testnet.accounts.map(async ({ address, privateKey }) => ({
      address,
      key: fromHex(privateKey),
      nonce: Number(await eth.request('eth_getTransactionCount', [address, 'pending'])),
    })),
  )
  let sent = 0
  const startMs = performance.now()
  for (let part = 1; !signal.aborted; part++) {
    const calls = []
    for (const due = Math.floor((part * rate) / PARTS_PER_SECOND); sent < due; sent++) {
      const sender = senders[sent % senders.length]
      if (sender === undefined) throw new RangeError('no account may send')
      const { raw } = signTransaction(sender.key, {
        chainId: BigInt(testnet.l2.chainId),
        nonce: sender.nonce++,
        to: sender.address,
        value: 1n,
        maxFeePerGas: 10_000_000_000n,
      })
      calls.push({ method: 'eth_sendRawTransaction', params: [toHex(raw)] })
    }
    const answers = await eth.batch(calls)
    const refused = answers.find((answer) => answer instanceof Error)
    if (refused !== undefined) throw refused
    await delay(Math.max(0, startMs + (part * 1000) / PARTS_PER_SECOND - performance.now()))
  }
  return sent
}
