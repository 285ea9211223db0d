import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRpcClient, type RpcClient } from '../../src/lib/jsonRpc/client.ts'
import { roles } from '../../testnet/accounts.ts'
import { startOpGeth } from '../support/opGeth.ts'
import { freePort, startProgram, stopPrograms } from '../support/programs.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A real op-node in our network, first as a follower, then as the sequencer that ours follow. Needs binaries of op-node
// and op-geth, of 2024 or of 2026: DEVIUM_OP_NODE=/path/to/op-node DEVIUM_OP_GETH=/path/to/geth.
const { DEVIUM_OP_NODE: opNode, DEVIUM_OP_GETH: opGeth } = process.env
const isComplete = opNode !== undefined && opGeth !== undefined
const title = isComplete ? 'with op-node' : 'with op-node (skipped: DEVIUM_OP_NODE and DEVIUM_OP_GETH name no binaries)'

const directory = mkdtempSync(join(tmpdir(), 'devium-op-node-'))
/** From then on op-node of 2024 punishes every peer for the silence of the pre-Canyon topic, and prunes it. */
const OP_NODE_PRUNES_AFTER_MS = 55_000
const clients: RpcClient[] = []
let testnet: RunningTestnet
let sequencer: RpcClient
let verifier: RpcClient
let theirs: RpcClient

interface Head {
  number: number
  hash: string
}

function connectTo(url: string | undefined): RpcClient {
  const client = createRpcClient({ url: url ?? '' })
  clients.push(client)
  return client
}

async function heads(rpc: RpcClient): Promise<{ unsafe_l2: Head; safe_l2: Head }> {
  return (await rpc.request('optimism_syncStatus', [])) as Awaited<ReturnType<typeof heads>>
}

const unsafeHead = async (rpc: RpcClient): Promise<Head> => (await heads(rpc)).unsafe_l2

/** How many blocks `follower` lacks of what `leader` has now. */
async function missing(leader: RpcClient, follower: RpcClient): Promise<number> {
  const [led, followed] = [await unsafeHead(leader), await unsafeHead(follower)]
  return led.number - followed.number
}

/** Looks on while `leader` makes `blocks`; the most that `follower` was behind. */
async function mostBehind(leader: RpcClient, follower: RpcClient, blocks: number): Promise<number> {
  const end = (await unsafeHead(leader)).number + blocks
  let most = 0
  await expect
    .poll(
      async () => {
        most = Math.max(most, await missing(leader, follower))
        return (await unsafeHead(leader)).number
      },
      { timeout: blocks * 3_000 + 10_000, interval: 200 },
    )
    .toBeGreaterThanOrEqual(end)
  return most
}

/** Scores of the connected peers of a node, by what each side of either dialect answers. */
async function scores(rpc: RpcClient): Promise<number[]> {
  const dump = (await rpc.request('opp2p_peers', [true])) as {
    peers: Record<string, { scores: { gossip: { total: number } } }>
  }
  return Object.values(dump.peers).map((peer) => peer.scores.gossip.total)
}

async function handOver(from: RpcClient, to: RpcClient): Promise<void> {
  const last = await from.request('admin_stopSequencer', [])
  await expect.poll(async () => (await unsafeHead(to)).hash, { timeout: 10_000 }).toBe(last)
  await to.request('admin_startSequencer', [last])
}

async function startOpNode(binary: string, gethBinary: string): Promise<RpcClient> {
  const geth = await startOpGeth(gethBinary, testnet.joinDir, directory)
  const [rpc, p2p] = [await freePort(), await freePort()]
  const rollupPath = join(directory, 'rollup.json')
  const { chain_op_config: chainOpConfig, ...rollup } = JSON.parse(
    readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8'),
  )
  // Op-node of 2024 refuses fields that it does not know; that of 2026 asks for this one, and for the L1's forks.
  const isOf2026 = execFileSync(binary, ['--help'], { encoding: 'utf8' }).includes('--rollup.l1-chain-config')
  writeFileSync(rollupPath, JSON.stringify(isOf2026 ? { ...rollup, chain_op_config: chainOpConfig } : rollup))
  startProgram(binary, [
    `--l1=${testnet.l1.rpc}`,
    '--l1.beacon.ignore',
    '--l1.trustrpc',
    '--l1.http-poll-interval=300ms',
    '--l1.epoch-poll-interval=1s',
    '--verifier.l1-confs=0',
    ...(isOf2026 ? [`--rollup.l1-chain-config=${writeL1Config(rollup.l1_chain_id)}`] : []),
    `--l2=${geth.engineUrl}`,
    `--l2.jwt-secret=${geth.jwtPath}`,
    `--rollup.config=${rollupPath}`,
    '--rpc.addr=127.0.0.1',
    `--rpc.port=${rpc}`,
    '--rpc.enable-admin',
    '--sequencer.enabled',
    '--sequencer.stopped',
    '--sequencer.l1-confs=0',
    `--p2p.sequencer.key=${roles.sequencer.privateKey}`,
    `--p2p.priv.path=${join(directory, 'p2p-key.txt')}`,
    '--p2p.peerstore.path=memory',
    '--p2p.discovery.path=memory',
    '--p2p.listen.ip=127.0.0.1',
    `--p2p.listen.tcp=${p2p}`,
    '--p2p.no-discovery',
    '--p2p.bootnodes=',
    `--p2p.static=${testnet.nodes[0]?.p2p}`,
  ])
  return connectTo(`http://127.0.0.1:${rpc}`)
}

/** The L1's forks in geth's form. */
function writeL1Config(chainId: number): string {
  const path = join(directory, 'l1.json')
  const blocks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
  writeFileSync(
    path,
    JSON.stringify({
      chainId,
      ...Object.fromEntries([...blocks, 'berlin', 'london'].map((fork) => [`${fork}Block`, 0])),
      terminalTotalDifficulty: 0,
      shanghaiTime: 0,
      cancunTime: 0,
      blobSchedule: { cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 } },
    }),
  )
  return path
}

describe.skipIf(!isComplete)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 2 })
    sequencer = connectTo(testnet.nodes[0]?.rollupRpc)
    verifier = connectTo(testnet.nodes[1]?.rollupRpc)
    theirs = await startOpNode(opNode ?? '', opGeth ?? '')
  })

  afterAll(async () => {
    await stopPrograms()
    await Promise.all(clients.map((client) => client.close()))
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('brings it our blocks by gossip, also when it has pruned us, and holds nothing against it', async () => {
    await expect.poll(() => missing(sequencer, theirs), { timeout: 60_000 }).toBeLessThanOrEqual(1)
    const joinedMs = performance.now()
    while (performance.now() - joinedMs < OP_NODE_PRUNES_AFTER_MS) {
      expect(await mostBehind(sequencer, theirs, 5)).toBeLessThanOrEqual(2)
    }
    expect(await mostBehind(sequencer, theirs, 15)).toBeLessThanOrEqual(2)
    for (const score of await scores(sequencer)) expect(score).toBeGreaterThanOrEqual(0)
    // Its threshold for gossip is -10.
    for (const score of await scores(theirs)) expect(score).toBeGreaterThan(-10)
  })

  it('hands sequencing over to it and back; our nodes follow its blocks', async () => {
    await handOver(sequencer, theirs)
    expect(await mostBehind(theirs, verifier, 20)).toBeLessThanOrEqual(2)
    await handOver(theirs, sequencer)
    expect(await mostBehind(sequencer, theirs, 5)).toBeLessThanOrEqual(2)
    const { safe_l2: safe } = await heads(theirs)
    const number = `0x${safe.number.toString(16)}`
    const output = (await theirs.request('optimism_outputAtBlock', [number])) as { outputRoot: string }
    expect(await sequencer.request('optimism_outputAtBlock', [number])).toMatchObject({ outputRoot: output.outputRoot })
    for (const score of await scores(verifier)) expect(score).toBeGreaterThanOrEqual(0)
  })
})
