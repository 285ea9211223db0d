import { setTimeout as delay } from 'node:timers/promises'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError, describeError } from '../../src/lib/errors.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'

/** Resolves when L1 returns its chain id. */
export async function waitForL1(l1: RpcClient, chainId: number, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      const answer = await l1.request('eth_chainId', [])
      if (answer === `0x${chainId.toString(16)}`) return
      throw new DeviumError('l1-start', `L1 at ${l1.url} has chain id ${String(answer)}, expected ${chainId}`)
    } catch (cause) {
      if (cause instanceof DeviumError && cause.code === 'l1-start') throw cause
      if (performance.now() > deadline) {
        throw new DeviumError('l1-start', `L1 does not answer: ${describeError(cause)}`, { cause })
      }
    }
    await delay(10)
  }
}

/** A block of L1, by default its head. */
export async function latestBlock(
  l1: RpcClient,
  tag: 'latest' | 'finalized' | Hex = 'latest',
): Promise<{ number: number; timestamp: number }> {
  const block = new JsonObjectReader(await l1.request('eth_getBlockByNumber', [tag, false]), 'L1 block')
  return { number: block.quantityNumber('number'), timestamp: block.quantityNumber('timestamp') }
}
