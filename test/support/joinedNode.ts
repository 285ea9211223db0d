import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ManagedProcess } from '../../testnet/process/managedProcess.ts'
import type { Endpoints } from '../../testnet/runner/events.ts'
import { claimPorts } from '../../testnet/runner/ports.ts'
import {
  geth,
  gethInit,
  type NodeCallOptions,
  type NodeFiles,
  type ProgramCall,
  rollupNode,
} from '../../testnet/runner/programs.ts'

/** A node that joins a testnet as `join.txt` describes: both programs, without discovery. */
export interface JoinedNode {
  name: string
  options: NodeCallOptions
  rollupRpc: string
  ethRpc: string
  geth: ManagedProcess
  node: ManagedProcess
  /** Restart a program that has ended. */
  startNodeAgain(): void
  startGethAgain(): void
  stop(): Promise<void>
}

export interface JoinOptions {
  name: string
  /** Multiaddresses. */
  staticPeers: readonly string[]
  /** Flags of the rollup node. A later flag overrides an earlier one. */
  flags?: readonly string[]
  env?: Record<string, string>
}

/** Files of a node in the directory `dir`, which gets a secret for the Engine API, and those of a join directory. */
export function joinedFiles(dir: string, joinDir: string): NodeFiles {
  mkdirSync(dir, { recursive: true })
  const jwt = join(dir, 'jwt.txt')
  writeFileSync(jwt, randomBytes(32).toString('hex'), { mode: 0o600 })
  return {
    gethDataDir: join(dir, 'geth'),
    jwt,
    p2pKey: join(dir, 'p2p-key.txt'),
    peerstore: join(dir, 'peerstore'),
    genesis: join(joinDir, 'genesis.json'),
    rollupConfig: join(joinDir, 'rollup.json'),
    l1Config: join(joinDir, 'l1.json'),
  }
}

/** Resolves when both programs have started; they may not answer yet. The node serves its page. */
export async function joinTestnet(net: Endpoints, wanted: JoinOptions): Promise<JoinedNode> {
  const { name, staticPeers, flags = [], env = {} } = wanted
  const files = joinedFiles(join(net.dir, name), net.joinDir)
  const [ports] = (await claimPorts(1, '127.0.0.1')).nodes
  if (ports === undefined) throw new RangeError('no ports')
  const options: NodeCallOptions = {
    files,
    ports,
    host: '127.0.0.1',
    l1Rpc: net.l1.rpc,
    staticPeers,
    sequencerRpc: net.nodes[0]?.ethRpc ?? '',
    dashboard: { name, others: [], batcherRpc: net.batcher.adminRpc },
  }
  const start = (what: string, { program, args }: ProgramCall): ManagedProcess =>
    ManagedProcess.start({
      name: `${name}-${what}`,
      command: { script: fileURLToPath(new URL(`../../bin/${program}.mjs`, import.meta.url)) },
      args,
      env,
      logPath: join(net.dir, 'logs', `${name}-${what}.log`),
    })
  const call = rollupNode(options)
  const startGeth = () => start('geth', geth(options))
  const startNode = () => start('node', { ...call, args: [...call.args, ...flags] })

  await start('init', gethInit(files)).exited
  const joined: JoinedNode = {
    ...{ name, options },
    rollupRpc: `http://127.0.0.1:${ports.rollupRpc}`,
    ethRpc: `http://127.0.0.1:${ports.ethRpc}`,
    geth: startGeth(),
    node: startNode(),
    startNodeAgain() {
      joined.node = startNode()
    },
    startGethAgain() {
      joined.geth = startGeth()
    },
    async stop() {
      await joined.node.stop('SIGTERM', 10_000)
      await joined.geth.stop('SIGTERM', 10_000)
    },
  }
  return joined
}
