import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { startRpcProxy } from '../../src/l1/testUtils/rpcProxy.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { type Head, heads, unsafeHead } from './heads.ts'
import { joinTestnet } from './joinedNode.ts'
import { startTestnet } from './testnet.ts'

export interface KillReport {
  kills: number
  /** Number of kills below the sequencer's safe head. */
  killsDuringSync: number
  /** Height of the chain at each kill. */
  heights: number[]
  /** Height up to which all blocks were compared. */
  compared: number
  /** Blocks that differ from the sequencer's chain. */
  differing: number[]
  /** Entries of the safe-head database with a block that is not in the chain, or an L1 block that is not on L1. */
  wrongEntries: number[]
  blobs: number
  seconds: number
}

/**
 * Lets a testnet post its chain in blobs until it is `blocks` high. Then syncs a verifier without peers from genesis, kills it
 * `kills` times with SIGKILL, every fifth time with its engine, and compares the chain.
 */
export async function syncUnderKills({ kills, blocks }: { kills: number; blocks: number }): Promise<KillReport> {
  const startedAt = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'devium-kills-'))
  await using opened = new AsyncDisposableStack()
  opened.defer(() => rmSync(directory, { recursive: true, force: true }))
  const testnet = await startTestnet({
    dir: join(directory, 'net'),
    nodes: 1,
    args: ['--da', 'blobs', '--l1-block-time', '1'],
  })
  opened.defer(async () => void (await testnet.stop()))
  const clients: RpcClient[] = []
  opened.defer(async () => void (await Promise.all(clients.map((client) => client.close()))))
  const connect = (url: string) => {
    const client = createPatientClient({ url })
    clients.push(client)
    return client
  }
  const sequencer = connect(testnet.nodes[0]?.rollupRpc ?? '')
  const sequencerEth = connect(testnet.nodes[0]?.ethRpc ?? '')
  const l1 = connect(testnet.l1.rpc)
  await untilReached(blocks, () => safeHead(sequencer))
  // The verifier's L1 ends with its first batch until the first kill, which therefore comes during the sync.
  let lastL1Block = 0
  while (Number((await blockAt(l1, lastL1Block)).blobGasUsed ?? 0) === 0) lastL1Block++
  const verifierL1 = await startRpcProxy(testnet.l1.rpc)
  opened.defer(() => verifierL1.stop())
  verifierL1.change = (method, result, [number]) =>
    method === 'eth_getBlockByNumber' && Number(number) > lastL1Block ? null : result

  const verifier = await joinTestnet(testnet, {
    name: 'verifier',
    staticPeers: [],
    flags: [`--l1=${verifierL1.url}`, `--safedb.path=${join(directory, 'safe-heads')}`, '--p2p.disable'],
  })
  opened.defer(() => verifier.stop())
  const rollup = connect(verifier.rollupRpc)
  const eth = connect(verifier.ethRpc)
  const report = { kills: 0, killsDuringSync: 0, heights: [] as number[] }
  for (; report.kills < kills; report.kills++) {
    // Each start gets further than the last one.
    const best = Math.min(blocks, report.heights.at(-1) ?? 0)
    const goesOn = await Promise.race([
      until(async () => (await unsafeHead(rollup)).number >= Math.min(best + 1, blocks)),
      verifier.node.exited.then(() => false),
    ])
    if (!goesOn) throw await verifier.node.failure()
    if (report.kills === 0) await until(async () => (await safeHead(sequencer)) > (await unsafeHead(rollup)).number)
    // At any point of the work: building a block, writing, or waiting for L1.
    await delay((report.kills * 7) % 20)
    const height = (await unsafeHead(rollup)).number
    report.heights.push(height)
    if (height < (await safeHead(sequencer))) report.killsDuringSync++
    const killed = report.kills % 5 === 4 ? [verifier.node, verifier.geth] : [verifier.node]
    for (const program of killed) program.kill()
    verifierL1.change = undefined
    await Promise.all(killed.map(({ exited }) => exited))
    if (!verifier.geth.running) verifier.startGethAgain()
    // A node stops after ten seconds without an engine. A busy machine may take as long to start one.
    await until(() => eth.request('eth_chainId', []))
    verifier.startNodeAgain()
  }
  const target = await safeHead(sequencer)
  await untilReached(target, () => safeHead(rollup))

  const differing: number[] = []
  for (let number = 0; number <= target; number++) {
    const [ours, theirs] = await Promise.all([blockAt(eth, number), blockAt(sequencerEth, number)])
    if (ours.hash !== theirs.hash) differing.push(number)
  }
  const { wrongEntries, blobs } = await checkEntries(rollup, eth, l1)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return { ...report, compared: target, differing, wrongEntries, blobs, seconds }
}

/** Checks the database's entry of each L1 block, and counts blobs. */
async function checkEntries(rollup: RpcClient, eth: RpcClient, l1: RpcClient) {
  const wrongEntries: number[] = []
  let blobs = 0
  const head = Number(await l1.request('eth_blockNumber', []))
  let previous = -1
  for (let number = 0; number <= head; number++) {
    blobs += Number((await blockAt(l1, number)).blobGasUsed ?? 0) / 131_072
    const entry = await rollup.request('optimism_safeHeadAtL1Block', [`0x${number.toString(16)}`])
    const { l1Block, safeHead: safe } = entry as { l1Block: Head; safeHead: Head }
    const isRight =
      safe.number >= previous &&
      (await blockAt(eth, safe.number)).hash === safe.hash &&
      (await blockAt(l1, l1Block.number)).hash === l1Block.hash
    if (!isRight) wrongEntries.push(number)
    previous = safe.number
  }
  return { wrongEntries, blobs }
}

const safeHead = async (rollup: RpcClient): Promise<number> => (await heads(rollup)).safe_l2.number

async function blockAt(eth: RpcClient, number: number) {
  const block = await eth.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
  return block as { hash: string; blobGasUsed?: string }
}

/** Waits for each block separately, because a whole chain may exceed the limit of one wait. */
async function untilReached(target: number, height: () => Promise<number>): Promise<void> {
  for (let best = -1; best < target; ) {
    const last = best
    best = await until(async () => {
      const now = await height()
      return now > last && now
    })
  }
}
