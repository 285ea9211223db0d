import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { loadJwtSecret, loadSecret } from '../../src/lib/jwt.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import { untilAborted } from '../../src/lib/untilAborted.ts'
import { writeWhole } from '../../src/lib/wholeFile.ts'
import { ProcessGroup } from '../process/processGroup.ts'
import { nodeLayout, type TestnetLayout, testnetLayout } from '../runner/layout.ts'
import { lockDirectory } from '../runner/manifest.ts'
import { assignPorts, checkPortsFree, claimPorts } from '../runner/ports.ts'
import { programSpec } from '../runner/programSpecs.ts'
import { geth, gethInit, gethProgram, type NodeCallOptions, nodeProgram, rollupNode } from '../runner/programs.ts'
import { waitForAnswer } from '../runner/readiness.ts'
import { readJson } from '../runner/readJson.ts'
import { fetchInvitation } from './fetchInvitation.ts'
import type { Invitation } from './invitation.ts'

export interface JoinOptions {
  /** URL of the runner's invitation. */
  url: string
  /** Directory of the node's data. */
  dir: string
  /** 0: chooses free ports. */
  basePort: number
}

export interface JoinContext {
  signal: AbortSignal
  /** Called when one of the two programs exits unexpectedly. */
  fail: (error: unknown) => void
  print: (line: string) => void
}

const HOST = '127.0.0.1'
const NAME = 'node'
const EXIT_TIMEOUT_MS = 15_000

/** Runs one more node of a testnet on another machine, until it is stopped. */
export async function joinTestnet(options: JoinOptions, { signal, fail, print }: JoinContext): Promise<void> {
  const { invitation, ip } = await fetchInvitation(options.url, signal)
  const layout = testnetLayout(options.dir)
  const unlock = lockDirectory(layout)
  const group = new ProcessGroup(async (crashed) => fail(await crashed.failure()))
  const killAll = () => group.killAll()
  process.once('exit', killAll).once('exit', unlock)
  try {
    const files = await writeFiles(layout, invitation)
    const call = await callOf(layout, files, { invitation, ip, basePort: options.basePort })
    await runNode(group, layout, call, { signal, print, chainId: invitation.l2ChainId })
  } finally {
    killAll()
    unlock()
    process.off('exit', killAll).off('exit', unlock)
  }
}

/** Throws UsageError if the directory holds a node of another chain. */
async function writeFiles(layout: TestnetLayout, { files }: Invitation): Promise<ChainFiles> {
  const { rollupConfig } = layout
  const theirs = JSON.parse(files.rollupConfig).genesis
  if (existsSync(rollupConfig) && !isDeepStrictEqual(readJson(rollupConfig).genesis, theirs)) {
    throw new UsageError(`--dir ${layout.dir} holds a node of another testnet: choose another, or delete it`)
  }
  const { genesis, l1Config } = layout
  const paths: ChainFiles = {
    ...{ genesis, rollupConfig, l1Config },
    ...(files.dependencySet === undefined ? {} : { dependencySet: layout.dependencySet }),
    ...(files.upgradeBundle === undefined ? {} : { upgradeBundle: layout.upgradeBundle }),
  }
  for (const name of CHAIN_FILES) {
    const [path, text] = [paths[name], files[name]]
    if (path !== undefined && text !== undefined) await writeWhole(path, text)
  }
  return paths
}

const CHAIN_FILES = ['genesis', 'rollupConfig', 'l1Config', 'dependencySet', 'upgradeBundle'] as const
type ChainFiles = Pick<NodeCallOptions['files'], (typeof CHAIN_FILES)[number]>

async function callOf(
  layout: TestnetLayout,
  files: ChainFiles,
  { invitation, ip, basePort }: { invitation: Invitation; ip: string; basePort: number },
): Promise<NodeCallOptions> {
  const node = nodeLayout(layout.dir, NAME)
  makeDirectory(node.dir)
  loadJwtSecret(node.jwt, { create: true })
  loadSecret(node.p2pKey, { create: true, what: 'p2p key file' })
  const assigned = basePort === 0 ? await claimPorts(1, HOST) : assignPorts(basePort, 1)
  if (basePort !== 0) await checkPortsFree(assigned, HOST)
  const [ports] = assigned.nodes
  if (ports === undefined) throw new RangeError('one node was asked for')
  const { l1, beacon, transactions, p2p } = invitation.ports
  return {
    files: { ...files, ...node },
    ...{ ports, host: HOST, l1Rpc: `http://${ip}:${l1}`, sequencerRpc: `http://${ip}:${transactions}` },
    l1Beacon: `http://${ip}:${beacon}`,
    staticPeers: [`/ip4/${ip}/tcp/${p2p}/p2p/${invitation.peerId}`],
    peerNames: [`sequencer=${invitation.peerId}`],
    dashboard: { name: NAME, others: [] },
  }
}

async function runNode(
  group: ProcessGroup,
  layout: TestnetLayout,
  call: NodeCallOptions,
  { signal, print, chainId }: { signal: AbortSignal; print: JoinContext['print']; chainId: number },
): Promise<void> {
  const { ports } = call
  const { initialised } = nodeLayout(layout.dir, NAME)
  const spec = (name: string, what: Parameters<typeof programSpec>[1]) => programSpec(name, what, layout.log(name))
  if (!existsSync(initialised)) {
    await group.run(spec(gethProgram(NAME), gethInit(call.files)))
    await writeFile(initialised, '')
  }
  signal.throwIfAborted()
  const executionClient = group.start(spec(gethProgram(NAME), geth(call)))
  const rollup = group.start(spec(nodeProgram(NAME), rollupNode(call)))
  const rollupRpc = `http://${HOST}:${ports.rollupRpc}`
  const client = createRpcClient({ url: rollupRpc })
  try {
    await waitForAnswer(client, 'optimism_syncStatus', signal)
    print(
      `this node follows chain ${chainId}: it gets blocks from ${call.staticPeers.join(', ')}, and derives from ${call.l1Rpc}`,
    )
    print(`  eth http://${HOST}:${ports.ethRpc}  rollup ${rollupRpc}  page ${rollupRpc}/dashboard`)
    print(`  data and logs  ${layout.dir}`)
    print(`  look at it: npx devium watch --rpc ${rollupRpc}     Ctrl-C stops it`)
    await untilAborted(new Promise(() => {}), signal).catch(() => {})
  } finally {
    group.expectExits()
    await client.close()
    await rollup.stop('SIGTERM', EXIT_TIMEOUT_MS)
    await executionClient.stop('SIGINT', EXIT_TIMEOUT_MS)
  }
}
