import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { type OpGeth, startOpGeth } from '../support/opGeth.ts'
import { startOurs, stopPrograms } from '../support/programs.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// The rollup node on another execution client: every block that devium-geth made is executed again by op-geth, which
// must come to the same hashes, from a genesis with the fork before the newest that it knows on. Needs a binary of op-geth: DEVIUM_OP_GETH=/path/to/geth.
const opGeth = process.env.DEVIUM_OP_GETH
const fork = opGeth === undefined ? '' : newestForkKnownTo({ opGeth })
const title =
  opGeth === undefined ? 'on op-geth (skipped: DEVIUM_OP_GETH names no binary)' : `on op-geth, to ${fork} as it runs`
/** Before op-geth has joined or after: it executes the activation block in either case. */
const ACTIVATION_AFTER_S = 12

const directory = mkdtempSync(join(tmpdir(), 'devium-op-geth-'))
let testnet: RunningTestnet
let geth: OpGeth
let node: RpcClient
let syncing: RpcClient | undefined
let sequencer: RpcClient

interface Head {
  number: number
  hash: string
}

async function heads(rpc: RpcClient): Promise<{ unsafe_l2: Head; safe_l2: Head; finalized_l2: Head }> {
  return (await rpc.request('optimism_syncStatus', [])) as Awaited<ReturnType<typeof heads>>
}

/** A rollup node above this execution client, which knows the sequencer. */
async function joinWith(engine: OpGeth, flags: string[] = []): Promise<RpcClient> {
  const [first] = testnet.nodes
  if (first === undefined) throw new Error('the testnet has no node')
  const { rpc = '' } = await startOurs('devium--batcher', [
    `--l1=${testnet.l1.rpc}`,
    '--l1.beacon.ignore',
    '--l1.http-poll-interval=300ms',
    '--l1.epoch-poll-interval=1s',
    `--l2=${engine.engineUrl}`,
    `--l2.jwt-secret=${engine.jwtPath}`,
    `--rollup.config=${join(testnet.joinDir, 'rollup.json')}`,
    `--rollup.l1-chain-config=${join(testnet.joinDir, 'l1.json')}`,
    '--rpc.port=0',
    `--p2p.priv.path=${join(mkdtempSync(join(directory, 'node-')), 'p2p-key.txt')}`,
    '--p2p.peerstore.path=memory',
    '--p2p.listen.ip=127.0.0.1',
    '--p2p.listen.tcp=0',
    '--p2p.no-discovery',
    `--p2p.static=${first.p2p}`,
    ...flags,
  ])
  return createPatientClient({ url: rpc })
}

describe.skipIf(opGeth === undefined)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 1, args: ['--fork-at', `${fork}:${ACTIVATION_AFTER_S}`] })
    sequencer = createPatientClient({ url: testnet.nodes[0]?.rollupRpc ?? '' })
    geth = await startOpGeth(opGeth ?? '', testnet.joinDir, join(directory, 'deriving'))
    node = await joinWith(geth)
  })

  afterAll(async () => {
    await stopPrograms()
    await node?.close()
    await syncing?.close()
    await sequencer?.close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('derives and follows the chain that devium-geth makes', async () => {
    await expect.poll(async () => (await heads(node)).safe_l2.number).toBeGreaterThan(ACTIVATION_AFTER_S + 5)
    const { safe_l2: safe } = await heads(node)
    expect(await sequencer.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`])).toEqual(
      await node.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`]),
    )
    // Gossip: the unsafe head is the sequencer's, not only what L1 has.
    await expect
      .poll(async () => (await heads(sequencer)).unsafe_l2.number - (await heads(node)).unsafe_l2.number)
      .toBeLessThanOrEqual(1)
    await expect.poll(async () => (await heads(node)).finalized_l2.number).toBeGreaterThan(0)
  })
  it('starts derivation after op-geth has synced by its own network', async () => {
    // A new peer gets the blocks of the last 45 s by gossip. Op-geth must sync older ones.
    await expect.poll(async () => (await heads(sequencer)).unsafe_l2.number).toBeGreaterThan(60)
    const from = (await heads(sequencer)).unsafe_l2.number
    const other = await startOpGeth(opGeth ?? '', testnet.joinDir, join(directory, 'syncing'), geth)
    const safeHeads = join(directory, 'safe-heads')
    syncing = await joinWith(other, [
      '--syncmode=execution-layer',
      '--syncmode.req-resp=false',
      '--syncmode.offset-el-safe=0s',
      `--safedb.path=${safeHeads}`,
    ])
    const behind = syncing
    await expect.poll(async () => (await heads(behind)).safe_l2.number).toBeGreaterThan(from)
    await expect.poll(async () => (await heads(behind)).finalized_l2.number).toBeGreaterThan(0)
    const { safe_l2: safe } = await heads(behind)
    expect(await behind.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`])).toEqual(
      await node.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`]),
    )
    // What was synced was not derived: safe heads are known from there on only.
    await expect(behind.request('optimism_safeHeadAtL1Block', ['0x5'])).rejects.toThrow()
    await expect
      .poll(async () => {
        const { current_l1: current } = (await behind.request('optimism_syncStatus', [])) as { current_l1: Head }
        return behind
          .request('optimism_safeHeadAtL1Block', [`0x${current.number.toString(16)}`])
          .then((known) => (known as { safeHead: Head }).safeHead.number)
      })
      .toBeGreaterThan(safe.number)
  })
})
