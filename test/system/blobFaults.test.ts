import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

const clients = createRpcClients()
let testnet: RunningTestnet
let verifier: RpcClient

beforeAll(async () => {
  testnet = await startTestnet({ nodes: 2, args: ['--da', 'blobs'] })
  verifier = clients.connectTo(testnet.nodes[1]?.rollupRpc)
})
afterAll(async () => {
  await clients.close()
  await testnet?.stop()
})

interface Status {
  blobs: { answers: { url: string; problem: string }[] } | null
}
const answers = async () => ((await verifier.request('devium_derivationStatus', [])) as Status).blobs?.answers ?? []
const safe = async () => (await heads(verifier)).safe_l2.number

it('a node waits for missing or wrong blobs, reports them, and continues', async () => {
  const { beacon } = testnet.l1
  for (const [mode, problem] of [
    ['off', 'blobs are off'],
    ['lie', 'hash 0x01'],
  ] as const) {
    await testnet.command(`blobs ${mode}`)
    await expect.poll(answers).toEqual([{ url: beacon, problem: expect.stringContaining(problem) }])
    const stuck = await safe()
    await testnet.command('blobs on')
    await expect.poll(safe).toBeGreaterThan(stuck)
  }
})
