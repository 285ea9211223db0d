import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { CLOSED_PORT } from '../../src/p2p/testUtils/rawServer.ts'
import { startTcpProxy, type TcpProxy } from '../../testnet/links/tcpProxy.ts'
import { startOurs, stopPrograms } from '../support/programs.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A node without peers, most of whose L1 endpoints are broken. It still derives the chain, with batches in blobs.

const bin = (name: string): string => fileURLToPath(new URL(`../../bin/${name}.mjs`, import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-l1-endpoints-'))
let testnet: RunningTestnet
let proxy: TcpProxy
let node: RpcClient
let sequencer: RpcClient

interface Heads {
  safe_l2: { number: number; hash: string }
}
const safeOf = async (rpc: RpcClient) => ((await rpc.request('optimism_syncStatus', [])) as Heads).safe_l2

describe.runIf(process.env.DEVIUM_LONG_FAULTS === 'all')('a node with mostly broken L1 endpoints', () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 1, args: ['--da', 'blobs'] })
    const l1Port = Number(new URL(testnet.l1.rpc).port)
    proxy = await startTcpProxy(l1Port)
    const [datadir, jwt] = [join(directory, 'geth'), join(directory, 'jwt.txt')]
    writeFileSync(jwt, '11'.repeat(32))
    execFileSync(process.execPath, [
      bin('devium-geth'),
      'init',
      `--datadir=${datadir}`,
      join(testnet.joinDir, 'genesis.json'),
    ])
    const { engine } = await startOurs('devium-geth', [
      `--datadir=${datadir}`,
      '--authrpc.port=0',
      `--authrpc.jwtsecret=${jwt}`,
    ])
    const { rpc = '' } = await startOurs('devium--batcher', [
      // A closed endpoint, a WebSocket that a test breaks, and a working endpoint.
      `--l1=http://127.0.0.1:${CLOSED_PORT},ws://127.0.0.1:${proxy.port},${testnet.l1.rpc}`,
      `--l1.beacon=http://127.0.0.1:${CLOSED_PORT}`,
      `--l1.beacon-fallbacks=${testnet.l1.rpc}`,
      '--l1.beacon.ignore',
      '--l1.http-poll-interval=1s',
      '--l1.epoch-poll-interval=2s',
      `--l2=${engine}`,
      `--l2.jwt-secret=${jwt}`,
      `--rollup.config=${join(testnet.joinDir, 'rollup.json')}`,
      `--rollup.l1-chain-config=${join(testnet.joinDir, 'l1.json')}`,
      '--rpc.port=0',
      '--p2p.disable',
    ])
    node = createPatientClient({ url: rpc })
    sequencer = createPatientClient({ url: testnet.nodes[0]?.rollupRpc ?? '' })
  })
  afterAll(async () => {
    await stopPrograms()
    await Promise.all([node?.close(), sequencer?.close(), proxy?.close()])
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('derives from the working endpoint, and continues when it breaks', async () => {
    const reach = async (number: number) => {
      await expect.poll(async () => (await safeOf(node).catch(() => undefined))?.number ?? 0).toBeGreaterThan(number)
      const reached = await safeOf(node)
      const theirs = await sequencer.request('optimism_outputAtBlock', [`0x${reached.number.toString(16)}`])
      expect(theirs).toMatchObject({ blockRef: { hash: reached.hash } })
      return reached.number
    }
    const first = await reach(3)
    proxy.cut()
    await reach(first + 5)
  })
})
