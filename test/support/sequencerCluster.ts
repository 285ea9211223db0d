import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { roles } from '../../testnet/accounts.ts'
import type { ChainParameters } from '../../testnet/chainParameters.ts'
import { DEFAULT_FORK, forksAtGenesis } from '../../testnet/forks.ts'
import { anvilArguments, findAnvil } from '../../testnet/l1/anvil.ts'
import { l1ChainConfig } from '../../testnet/l1/chainConfig.ts'
import { deployContracts } from '../../testnet/l1/deploy.ts'
import { ManagedProcess } from '../../testnet/process/managedProcess.ts'
import { ChainMaker } from '../../testnet/runner/chain.ts'
import { nodeName, testnetLayout } from '../../testnet/runner/layout.ts'
import { claimPorts } from '../../testnet/runner/ports.ts'
import { geth, gethInit, type ProgramCall, sequencerNode } from '../../testnet/runner/programs.ts'
import { describeNodes, type NodeDescription } from '../../testnet/runner/setup.ts'
import { unsafeHead } from './heads.ts'
import { claimPort } from './programs.ts'

/** A sequencer with its conductor. Each program is a process. */
export interface ClusterMember {
  name: string
  p2p: string
  /** Consensus address of its conductor. */
  consensus: string
  node: RpcClient
  eth: RpcClient
  conductor: RpcClient
  processes: { geth: ManagedProcess; node: ManagedProcess; conductor: ManagedProcess }
  /** Kills its programs at once, like a machine failure. */
  kill(): Promise<void>
  /** Restarts all programs with the remaining data. */
  restart(): Promise<void>
}

export interface SequencerCluster {
  members: ClusterMember[]
  rollupConfigPath: string
  directory: string
  stop(): Promise<void>
}

/** Seconds that the head may lag before the conductor considers the sequencer unhealthy. */
const UNSAFE_INTERVAL_SECONDS = 8
const HOST = '127.0.0.1'

/**
 * One L1 and `size` sequencers, each with its own op-conductor. Resolves when the first one leads and has built the first block,
 * and all conductors are active.
 */
export async function startSequencerCluster(opConductor: string, size: number): Promise<SequencerCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'devium-cluster-'))
  const processes: ManagedProcess[] = []
  const clients: RpcClient[] = []
  const stop = async () => {
    await Promise.all(clients.map((client) => client.close()))
    for (const started of processes.reverse()) started.kill()
    await Promise.all(processes.map(({ exited }) => exited))
    rmSync(directory, { recursive: true, force: true })
  }
  const launch = (
    name: string,
    command: ManagedProcess['spec']['command'],
    args: string[],
    env?: ProgramCall['env'],
  ) => {
    const logPath = join(directory, 'logs', `${name}.log`)
    const started = ManagedProcess.start({ name, command, args, logPath, ...(env === undefined ? {} : { env }) })
    processes.push(started)
    return started
  }
  const connect = (port: number) => {
    const client = createRpcClient({ url: `http://${HOST}:${port}`, timeoutMs: 5000 })
    clients.push(client)
    return client
  }

  try {
    const layout = testnetLayout(directory)
    const ports = await claimPorts(size, HOST)
    const chain: ChainParameters = {
      l1ChainId: 900,
      l2ChainId: 901,
      blockTime: 1,
      l1BlockTime: 2,
      genesisTime: Math.floor(Date.now() / 1000),
      forks: forksAtGenesis(DEFAULT_FORK),
    }
    mkdirSync(layout.l1Cache, { recursive: true })
    launch(
      'l1',
      { binary: findAnvil() },
      anvilArguments({ host: HOST, port: ports.l1, chain, dumpTo: layout.l1StateNew, cacheDir: layout.l1Cache }),
    )
    const maker = new ChainMaker(layout, chain)
    const genesisHash = await maker.writeGenesis()
    const steps = await maker.l1Steps()
    const l1Genesis = await deployContracts(connect(ports.l1), steps, chain, await maker.multicall3Code())
    await maker.writeRollupConfig(l1Genesis, genesisHash)
    await writeFile(layout.l1Config, JSON.stringify(l1ChainConfig(chain.l1ChainId)))

    const portOf = (node: string) => ports.nodes.find((_, index) => nodeName(index) === node)?.p2p ?? 0
    const descriptions = describeNodes(
      {
        layout,
        ports,
        host: HOST,
        chain,
        resumed: false,
        l1Client: 'anvil',
        clients: [],
        da: 'calldata',
        token: undefined,
      },
      { doorPort: portOf, pairPort: portOf, entrancePort: ports.nodes[0]?.ethRpc ?? 0 },
    )
    const members = await Promise.all(descriptions.map((description) => startMember(description)))
    await Promise.all(members.map(({ conductor }) => answer(conductor, 'conductor_leader')))
    await formCluster(members, genesisHash)
    return { members, rollupConfigPath: layout.rollupConfig, directory, stop }

    async function startMember({
      layout: files,
      ports: nodePorts,
      call,
      p2p,
    }: NodeDescription): Promise<ClusterMember> {
      const { sequencerRpc: _, ...ownCall } = call
      const [conductorPort, consensusPort] = [await claimPort(), await claimPort()]
      const script = (name: string, { program, args, env }: ProgramCall, more: string[] = []) => {
        const path = fileURLToPath(new URL(`../../bin/${program}.mjs`, import.meta.url))
        return launch(`${files.name}-${name}`, { script: path }, [...args, ...more], env)
      }
      const node = connect(nodePorts.rollupRpc)
      const startAll = async (conductorFlags: string[]): Promise<ClusterMember['processes']> => {
        const gethProcess = script('geth', geth(ownCall))
        const nodeProcess = script('node', sequencerNode(ownCall, roles.sequencer.privateKey), [
          // Empty blocks are logged too.
          '--log.level=debug',
          '--conductor.enabled',
          `--conductor.rpc=http://${HOST}:${conductorPort}`,
        ])
        await answer(node, 'optimism_syncStatus')
        const conductorProcess = launch(`${files.name}-conductor`, { binary: opConductor }, [
          `--consensus.addr=${HOST}`,
          `--consensus.port=${consensusPort}`,
          `--raft.server.id=${files.name}`,
          `--raft.storage.dir=${join(files.dir, 'raft')}`,
          `--node.rpc=http://${HOST}:${nodePorts.rollupRpc}`,
          `--execution.rpc=http://${HOST}:${nodePorts.ethRpc}`,
          '--healthcheck.interval=1',
          `--healthcheck.unsafe-interval=${UNSAFE_INTERVAL_SECONDS}`,
          '--healthcheck.min-peer-count=1',
          // Otherwise it repeatedly transfers leadership to the member with the longest log, even a dead one.
          '--raft.round-robin-leader-transfer',
          `--rollup.config=${layout.rollupConfig}`,
          `--rpc.addr=${HOST}`,
          `--rpc.port=${conductorPort}`,
          ...conductorFlags,
        ])
        return { geth: gethProcess, node: nodeProcess, conductor: conductorProcess }
      }
      await script('init', gethInit(ownCall.files)).exited
      const isFirst = call.staticPeers.length === 0
      const processes = await startAll(['--paused', ...(isFirst ? ['--raft.bootstrap'] : [])])
      const member: ClusterMember = {
        name: files.name,
        p2p,
        consensus: `${HOST}:${consensusPort}`,
        node,
        eth: connect(nodePorts.ethRpc),
        conductor: connect(conductorPort),
        processes,
        async kill() {
          for (const process of Object.values(member.processes)) process.kill()
          await Promise.all(Object.values(member.processes).map(({ exited }) => exited))
        },
        async restart() {
          member.processes = await startAll([])
          await answer(member.conductor, 'conductor_leader')
        },
      }
      return member
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * The steps of op-conductor's runbook: one member bootstraps, the others join, the first block is built, and all conductors
 * resume.
 */
async function formCluster([first, ...others]: readonly ClusterMember[], genesisHash: string): Promise<void> {
  if (first === undefined) throw new RangeError('a cluster has members')
  await until('a leader', async () => (await first.conductor.request('conductor_leader', [])) === true)
  for (const { name, consensus } of others) {
    await first.conductor.request('conductor_addServerAsVoter', [name, consensus, 0])
  }
  await until('the heads', async () => (await unsafeHead(first.node)).hash === genesisHash)
  await first.node.request('admin_startSequencer', [genesisHash])
  await until('the first block', async () => (await unsafeHead(first.node)).number > 0)
  for (const { conductor } of [first, ...others]) await conductor.request('conductor_resume', [])
}

async function answer(client: RpcClient, method: string): Promise<void> {
  await until(`${client.url} to answer ${method}`, async () => {
    await client.request(method, [])
    return true
  })
}
