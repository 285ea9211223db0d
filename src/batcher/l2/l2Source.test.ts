import { afterEach, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { quantityToNumber } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { loadRecordedChain } from '../testUtils/recordedChain.ts'
import { createL2Source } from './l2Source.ts'

const chain = loadRecordedChain('holocene-span-brotli-calldata')
const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Repeats the recorded chain to `length` blocks. Also returns the sizes of the block requests. */
async function serve({ length = 1_000, maxBatchSize = 1_000, tooLarge = new Set<number>() } = {}) {
  const blockOf = (number: number) => {
    if (tooLarge.delete(number)) throw new JsonRpcError(-32003, 'response too large')
    const recorded = chain.blocks[1 + (number % (chain.blocks.length - 1))]
    return number < length ? { ...recorded, number: `0x${number.toString(16)}` } : null
  }
  const methods = new Map([
    ['eth_getBlockByNumber', ([number]: readonly unknown[]) => blockOf(quantityToNumber(number))],
  ])
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods, maxBatchSize }) })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  const client = createPatientClient({ url: server.url })
  closers.push(client.close, server.close)
  const requests: number[] = []
  const rpc: Pick<RpcClient, 'request' | 'batch'> = {
    request(...args) {
      requests.push(1)
      return client.request(...args)
    },
    batch(calls, options) {
      requests.push(calls.length)
      return client.batch(calls, options)
    },
  }
  return { source: createL2Source(rpc, 20_000), requests }
}

async function numbersOf(source: ReturnType<typeof createL2Source>, start: number, end: number): Promise<number[]> {
  const numbers: number[] = []
  for await (const blocks of source.blocks(start, end)) numbers.push(...blocks.map(({ number }) => number))
  return numbers
}

const range = (start: number, end: number) => Array.from({ length: end + 1 - start }, (_, index) => start + index)

describe('L2Source.blocks', () => {
  it('loads blocks in order with few requests, each limited in memory', async () => {
    const { source, requests } = await serve()
    expect(await numbersOf(source, 3, 402)).toEqual(range(3, 402))
    expect(requests.slice(0, 3)).toEqual([1, 4, 16])
    // Its blocks have five kilobytes each.
    expect(Math.max(...requests)).toBeGreaterThan(20)
    expect(Math.max(...requests)).toBeLessThan(60)
    expect(requests.length).toBeLessThan(25)
  })

  it('sends single requests to a node that refuses batches', async () => {
    const { source, requests } = await serve({ maxBatchSize: 1 })
    expect(await numbersOf(source, 1, 40)).toEqual(range(1, 40))
    expect(requests.filter((calls) => calls > 1)).toEqual([4])
  })

  it('continues after a node has answered only the first calls of a batch', async () => {
    const { source } = await serve({ tooLarge: new Set([8, 9, 21]) })
    expect(await numbersOf(source, 1, 100)).toEqual(range(1, 100))
  })

  it('names the number of a missing block in the error', async () => {
    const { source } = await serve({ length: 30 })
    await expect(numbersOf(source, 1, 100)).rejects.toThrow(errorWith('l2-block-missing', 30))
  })
})
