import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../src/jsonRpc/server.ts'
import { quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { rollupConfigToJson } from '../../src/rollup/protocol/index.ts'
import { testConfig } from '../../src/rollup/protocol/testUtils/config.ts'
import { feedKonaNodes } from './konaFeed.ts'

const zero = `0x${'00'.repeat(32)}`

function rpcBlock(number: string) {
  return {
    ...{ number, hash: `0x${BigInt(number).toString(16).padStart(64, '0')}`, parentHash: zero, stateRoot: zero },
    ...{ receiptsRoot: zero, mixHash: zero, miner: `0x${'00'.repeat(20)}`, logsBloom: `0x${'00'.repeat(256)}` },
    ...{ gasLimit: '0x1', gasUsed: '0x0', timestamp: number, extraData: '0x', baseFeePerGas: '0x1', transactions: [] },
  }
}

it('posts the blocks between the head of a kona node and the tip, in order, and again after a loss', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'devium-kona-feed-'))
  const rollupConfig = join(folder, 'rollup.json')
  writeFileSync(rollupConfig, JSON.stringify(rollupConfigToJson(testConfig({ regolith: 0 }))))
  let head = 2
  const posted: number[] = []
  const methods = new Map<string, RpcHandler>([['eth_blockNumber', () => toQuantity(head)]])
  const execution = await serveApp(
    createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }),
    '127.0.0.1',
    0,
    'test',
  )
  const sequencer = {
    request: async (method: string, [tag]: readonly unknown[]) => {
      return method === 'eth_blockNumber' ? '0x6' : rpcBlock(String(tag))
    },
  }
  const kona = {
    request: async (_: string, [envelope]: readonly unknown[]) => {
      const number = quantityToNumber(Object(envelope).executionPayload.blockNumber, 'number')
      posted.push(number)
      head = number
    },
  }
  const requested: string[] = []
  const clients = {
    get(name: string) {
      requested.push(name)
      return kona
    },
  }
  const stop = new AbortController()
  const nodes = [
    { name: 'verifier1', ethRpc: 'http://127.0.0.1:1' },
    { name: 'verifier2', ethRpc: execution.url, clients: { rollup: 'kona' as const } },
  ]
  const layout = { rollupConfig, log: (name: string) => join(folder, `${name}.log`) }
  const feeding = feedKonaNodes({ sequencer, clients }, nodes, { layout }, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await feeding
    await execution.close()
    rmSync(folder, { recursive: true })
  })
  // Gossip delivers the tip, block 6.
  await until(() => posted.length === 3)
  expect(posted).toEqual([3, 4, 5])
  head = 4
  await until(() => posted.length === 4)
  expect(posted).toEqual([3, 4, 5, 5])
  expect(new Set(requested)).toEqual(new Set(['verifier2']))
})
