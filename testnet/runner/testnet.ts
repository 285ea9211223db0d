import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { describeError } from '../../src/lib/errors.ts'
import { createSemaphore } from '../../src/lib/semaphore.ts'
import { roles } from '../accounts.ts'
import { batchInboxAddress, type DataAvailability } from '../chainParameters.ts'
import { feedKonaNodes } from '../clients/konaFeed.ts'
import { writeL1Config } from '../clients/l1Config.ts'
import { exportTestnet } from '../export/exportTestnet.ts'
import { HostilePeers } from '../hostile/hostilePeers.ts'
import { readL1Block } from '../l1/rpc.ts'
import { PeerBlocks } from '../links/peerBlocks.ts'
import type { PeerLinks } from '../links/peerLinks.ts'
import { TransactionLoad } from '../load/transactionLoad.ts'
import type { ProcessSpec } from '../process/managedProcess.ts'
import { neighboursAmong } from '../topology.ts'
import { addressBook } from './addresses.ts'
import { AnvilL1 } from './anvilL1.ts'
import { type ChainFiles, makeChain, resumeChain } from './chainFiles.ts'
import { type Emit, type Endpoints, type Milestone, secondsSinceStart } from './events.ts'
import { ForkEvents } from './forkEvents.ts'
import { GethL1 } from './gethL1.ts'
import { handOver } from './handOver.ts'
import { copyInitialised, isInitialised } from './initialised.ts'
import { joinText } from './joinText.ts'
import { type L1, L1_PROGRAM } from './l1.ts'
import { writeLagoonFiles } from './lagoonFiles.ts'
import { nodeName } from './layout.ts'
import { writeManifest } from './manifest.ts'
import { bearerOf, NodeClients } from './nodeClients.ts'
import { claimNodePorts } from './ports.ts'
import { ProgramSpecs } from './programSpecs.ts'
import { BATCHER_PROGRAM, gethProgram, nodeProgram, reachableHost } from './programs.ts'
import { type RunningProposer, startProposer } from './proposer.ts'
import { keptHead, untilReady, waitForAnswer } from './readiness.ts'
import { RunningPrograms } from './runningPrograms.ts'
import { describeEndpoints, describeNode, type NodeDescription, nodeEndpoints, type TestnetSetup } from './setup.ts'
import { Snapshots } from './snapshots.ts'
import { StatusReader, type TestnetStatus } from './status.ts'
import { stopInOrder } from './stop.ts'

export interface TestnetModules {
  emit: Emit
  /** Called if a program exits that must run. */
  fail: (error: unknown) => void
  links: PeerLinks
}

export interface TestnetOptions {
  /** If true, the exit of one program ends the testnet, also after it is ready. */
  failFast: boolean
}

/**
 * More rollup nodes at once do not start sooner. On a machine with few cores they delay each other and the runner until requests
 * to the L1 time out.
 */
const STARTS_AT_ONCE = Math.max(8, 4 * availableParallelism())

/**
 * A running testnet: L1, nodes and batch submitter, each a separate process. `start` resolves when all nodes share a safe block.
 * `stop` may be called at any time, also during `start`.
 */
export class Testnet {
  readonly endpoints: Endpoints
  readonly links: PeerLinks
  private readonly modules: TestnetModules
  private readonly setup: TestnetSetup
  private readonly options: TestnetOptions
  readonly programs: RunningPrograms
  private readonly l1Client: RpcClient
  readonly l1: L1
  readonly load: TransactionLoad
  readonly hostile: HostilePeers
  readonly snapshots: Snapshots
  readonly clients: NodeClients
  readonly blocks: PeerBlocks
  private readonly specs: ProgramSpecs
  private readonly statusReader: StatusReader
  private readonly milestones: Milestone[] = []
  private readonly nodes: NodeDescription[]
  private readonly stopping = new AbortController()
  private proposer: RunningProposer | undefined
  private readonly l2Client: RpcClient
  private feeding: Promise<void> | undefined
  private readonly forkEvents: ForkEvents

  constructor(
    modules: TestnetModules,
    setup: TestnetSetup,
    nodes: readonly NodeDescription[],
    options: TestnetOptions,
  ) {
    const { chain } = setup
    this.modules = modules
    this.links = modules.links
    this.setup = setup
    this.specs = new ProgramSpecs(setup)
    this.forkEvents = new ForkEvents(modules.emit, chain, setup.resumed ? undefined : 0)
    this.options = options
    this.programs = new RunningPrograms(modules)
    this.hostile = new HostilePeers(this.programs, setup)
    this.nodes = [...nodes]
    this.endpoints = describeEndpoints(setup, nodes)
    this.l1Client = createRpcClient({ url: this.endpoints.l1.rpc })
    this.l2Client = createRpcClient({ url: `http://${reachableHost(setup.host)}:${this.links.entrancePort}` })
    this.load = new TransactionLoad({ l2: this.l2Client, clock: systemClock }, chain)
    this.snapshots = new Snapshots(setup)
    const l1Modules = { programs: this.programs, client: this.l1Client }
    const { l1Client } = setup
    this.l1 = l1Client === 'anvil' ? new AnvilL1(l1Modules, setup) : new GethL1(l1Modules, setup, l1Client.geth)
    this.clients = new NodeClients(this.endpoints.nodes, setup.token)
    this.blocks = new PeerBlocks(this.clients, this.endpoints)
    this.statusReader = new StatusReader({
      l1: this.l1Client,
      nodes: () =>
        this.endpoints.nodes.map(({ name, clients, metrics }) => ({
          name,
          isOurs: clients?.rollup === undefined,
          rollup: this.clients.get(name),
          metricsUrl: metrics,
        })),
      batcher: roles.batcher.address,
      batchInbox: batchInboxAddress(chain.l2ChainId),
    })
  }

  async start(signal: AbortSignal): Promise<void> {
    const { setup } = this
    const origin = { l1: this.l1, l1Client: this.l1Client, emit: this.modules.emit, reached: this.reached.bind(this) }
    // The manifest is written first. If this start is interrupted, the next start adds the forks, or makes the chain anew.
    await writeManifest(setup.layout, { version: 1, chain: setup.chain, complete: setup.resumed })
    const chainFiles = setup.resumed ? resumeChain(origin, setup, signal) : makeChain(origin, setup, signal)
    const geths = this.startGeths(chainFiles)
    // Both may fail. The first failure is reported.
    await Promise.all([chainFiles.complete, geths])
    await chainFiles.finish?.()
    signal.throwIfAborted()
    await writeManifest(setup.layout, { version: 1, chain: setup.chain, complete: true })
    await writeLagoonFiles(setup.layout, setup.chain, setup.upgradeBundle)
    await writeL1Config(setup, this.l1.chainConfig())
    await writeFile(setup.layout.addresses, `${JSON.stringify(addressBook(this.endpoints), null, 2)}\n`)
    await writeFile(setup.layout.joinText, joinText(this.endpoints, setup.layout, setup.host, setup.ports.spare))
    if (setup.resumed) this.forkEvents.headAtStart = await keptHead(this.endpoints.nodes[0]?.ethRpc ?? '', signal)
    const { l2Client: sequencer, clients } = this
    this.feeding = feedKonaNodes({ sequencer, clients }, this.endpoints.nodes, setup, this.stopping.signal)
    const [safeHeight] = await Promise.all([
      this.startBatches(setup.resumed, signal),
      this.startRollupNodes(this.nodes, signal),
    ])
    const { milestones, endpoints } = this
    this.modules.emit({ event: 'ready', seconds: secondsSinceStart(), milestones, safeHeight, ...endpoints })
    if (!this.options.failFast) this.programs.tolerateExits()
  }

  /** Starts the submitter and the proposer when the sequencer answers. Returns the first safe height that all nodes share. */
  private async startBatches(resumed: boolean, signal: AbortSignal): Promise<number> {
    await waitForAnswer(this.clients.get(nodeName(0)), 'optimism_rollupConfig', signal)
    this.reached('sequencer answers')
    this.startSubmitter(resumed)
    this.startProposer()
    return untilReady(this, (what) => this.reached(what), signal)
  }

  /** The current status. Emits events for forks that were activated since the last call. */
  async status(): Promise<TestnetStatus> {
    const status = await this.statusReader.read()
    const head = status.nodes[0]?.unsafe?.number
    const lastOutput = this.proposer?.proposer.lastOutput
    if (lastOutput !== undefined) status.lastOutput = lastOutput
    return head === undefined ? status : { ...status, fork: this.forkEvents.at(head) }
  }

  /** Restarts all programs that have ended. Failures are reported as warnings. */
  startEndedAgain(): void {
    for (const program of this.programs.ended()) {
      try {
        this.programs.startAgain(program)
      } catch (error) {
        this.modules.emit({ event: 'warning', message: `${program}: ${describeError(error)}` })
      }
    }
  }

  /** Stops everything in the documented order. Never rejects. */
  async stop(): Promise<void> {
    const { programs } = this
    programs.group.expectExits()
    programs.resumeAll()
    this.stopping.abort()
    await this.load.close()
    await this.blocks.set([])
    await this.proposer?.stop()
    await this.feeding
    await this.stopPrograms(this.modules.emit)
    programs.group.killAll()
    await this.l1.close()
    await this.links.close()
    await Promise.all([this.l1Client, this.clients].map((client) => client.close()))
  }

  /**
   * Stops all programs in order, calls `action`, and restarts the programs that ran. With `forgetsData` the action replaces all
   * data, so programs are killed, and all are started. Returns the downtime in milliseconds.
   */
  async whileStopped(action: () => void | Promise<void>, { forgetsData } = { forgetsData: false }): Promise<number> {
    const { programs } = this
    const ran = forgetsData ? programs.names() : programs.running()
    // The load waits for the answers of a program that is paused.
    programs.resumeAll()
    await this.load.stop()
    await this.proposer?.stop()
    programs.expectAllExits()
    const beganMs = performance.now()
    if (forgetsData) await Promise.all(programs.running().map((name) => programs.end(name, 'SIGKILL')))
    else await this.stopPrograms((event) => event.event === 'warning' && this.modules.emit(event))
    await this.l1.close()
    try {
      await action()
    } finally {
      await this.startPrograms(ran)
    }
    return performance.now() - beganMs
  }

  /** Writes the network as files for containers. Returns their directory. */
  async export(): Promise<string> {
    return exportTestnet(this.setup, this.nodes, await this.l1.packedState())
  }

  async l1Heads(): Promise<{ head: number; finalized: number }> {
    const [head, finalized] = await Promise.all([readL1Block(this.l1Client), readL1Block(this.l1Client, 'finalized')])
    return { head: head.number, finalized: finalized.number }
  }

  /** Calls a rollup node. */
  request(node: string, method: string, params: readonly unknown[]): Promise<unknown> {
    return this.clients.get(node).request(method, params)
  }

  requestL1(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.l1Client.request(method, params)
  }

  connect(from: string, to: string, port: number): Promise<void> {
    const peerId = this.endpoints.nodes.find(({ name }) => name === to)?.peerId
    return this.clients.connect(from, `/ip4/${reachableHost(this.setup.host)}/tcp/${port}/p2p/${peerId}`)
  }

  /**
   * Starts one more node, with its neighbours as static peers and the sequencer as bootnode. Returns its name after it answers.
   */
  async addNode(): Promise<string> {
    const { setup, links } = this
    const numbers = this.nodes.map(({ layout }) => Number(/\d+$/.exec(layout.name)?.[0] ?? 0))
    const name = nodeName(Math.max(...numbers) + 1)
    const taken = this.nodes.map(({ ports }) => ports)
    const ports = await claimNodePorts(setup.ports, setup.host, taken)
    await links.add({ name, port: ports.p2p })
    for (const other of neighboursAmong(this.nodes, setup.topology)) await links.openPair(other.layout.name, name)
    const node = describeNode(setup, links, { earlier: this.nodes, name, ports })
    const endpoints = nodeEndpoints(setup.host, node)
    await this.startGeth(node, false)
    this.clients.add(endpoints)
    this.nodes.push(node)
    this.endpoints.nodes.push(endpoints)
    await this.startRollupNodes([node], this.stopping.signal)
    return name
  }

  /** Stops a node's programs. Its data stays. */
  async removeNode(name: string): Promise<void> {
    for (const [program, signal] of [
      [nodeProgram(name), 'SIGTERM'],
      [gethProgram(name), 'SIGINT'],
    ] as const) {
      if (this.programs.isRunning(program)) await this.programs.end(program, signal)
      this.programs.forget(program)
    }
    const index = this.nodes.findIndex(({ layout }) => layout.name === name)
    this.nodes.splice(index, 1)
    this.endpoints.nodes.splice(index, 1)
    await this.clients.remove(name)
    await this.links.remove(name)
  }

  get da(): DataAvailability {
    return this.setup.da
  }

  get sequencer(): string {
    return this.specs.sequencer
  }

  /** Moves the sequencer to another node, on the last block of the old sequencer. */
  async moveSequencer(name: string): Promise<void> {
    const { specs, clients, programs } = this
    const [before, node] = [specs.sequencer, name].map((one) => this.nodes.find(({ layout }) => layout.name === one))
    if (before === undefined || node === undefined) throw new RangeError(`there is no node ${name}`)
    await handOver(
      { from: clients.get(specs.sequencer), to: clients.get(name), signal: this.stopping.signal },
      {
        prepare: () => this.restart(specs.geth(node, { isSequencer: true }), specs.standby(node), name),
        giveUp: () => this.restart(specs.geth(node), specs.rollupNode(node), name),
      },
    )
    const former = specs.sequencer
    specs.sequencer = name
    this.links.moveEntrance(node.ports.ethRpc)
    // The specification for a restart after it has ended.
    programs.setAgain(nodeProgram(name), () => specs.rollupNode(node))
    await this.restart(specs.geth(before), specs.rollupNode(before), former)
    const submitter = () => specs.submitter(this.nodes, true)
    await programs.replace(submitter(), 'SIGTERM', submitter)
    const admin = this.batcherAdmin()
    await waitForAnswer(admin, 'admin_batcherStatus', this.stopping.signal).finally(() => admin.close())
  }

  /** Restarts both programs of a node, with other flags. */
  private async restart(geth: ProcessSpec, node: ProcessSpec, name: string): Promise<void> {
    if (this.programs.isRunning(node.name)) await this.programs.end(node.name, 'SIGTERM')
    await this.programs.replace(geth, 'SIGINT')
    await this.programs.replace(node, 'SIGTERM')
    await waitForAnswer(this.clients.get(name), 'optimism_rollupConfig', this.stopping.signal)
  }

  private batcherAdmin(): RpcClient {
    return createRpcClient({ url: this.endpoints.batcher.adminRpc, headers: bearerOf(this.setup.token) })
  }

  /** Kills everything at once. Synchronous, for exit handlers. */
  kill(): void {
    this.programs.group.killAll()
  }

  private async startGeths({ genesisWritten, initAgain = false }: ChainFiles): Promise<void> {
    await genesisWritten
    // Our nodes all start with the same data. One writes the genesis block, and the others copy it.
    const [first, ...others] = this.nodes.filter(
      ({ clients, layout }) => clients.execution === undefined && !isInitialised(layout),
    )
    if (first !== undefined && !initAgain) {
      await this.initGeth(first)
      await Promise.all(others.map(({ layout }) => copyInitialised(first.layout, layout)))
    }
    await Promise.all(this.nodes.map((node) => this.startGeth(node, initAgain)))
    this.reached('devium-geth started')
  }

  private async startGeth(node: NodeDescription, initAgain: boolean): Promise<void> {
    // If the data of an execution client was deleted, the node starts from genesis again.
    if (initAgain || !isInitialised(node.layout)) await this.initGeth(node)
    this.programs.start(this.specs.geth(node))
  }

  private async initGeth(node: NodeDescription): Promise<void> {
    const init = this.specs.gethInit(node)
    if (init !== undefined) await this.programs.group.run(init)
    await writeFile(node.layout.initialised, '')
  }

  private startSubmitter(resumed: boolean): void {
    this.programs.start(this.specs.submitter(this.nodes, resumed), () => this.specs.submitter(this.nodes, true))
  }

  private startProposer(): void {
    this.proposer = startProposer({ l1: this.l1Client, rollup: this.clients.get(nodeName(0)) }, this.setup)
  }

  /** Resolves when all programs answer. */
  private async startPrograms(names: readonly string[]): Promise<void> {
    const { signal } = this.stopping
    if (names.includes(L1_PROGRAM)) await this.l1.resume(signal)
    const withGeth = this.nodes.filter(({ layout }) => names.includes(gethProgram(layout.name)))
    await Promise.all(withGeth.map((node) => this.startGeth(node, false)))
    const nodes = this.nodes.filter(({ layout }) => names.includes(nodeProgram(layout.name)))
    if (names.includes(BATCHER_PROGRAM)) this.startSubmitter(true)
    this.startProposer()
    await this.startRollupNodes(nodes, signal)
  }

  /** Resolves when all answer. */
  private async startRollupNodes(nodes: readonly NodeDescription[], signal: AbortSignal): Promise<void> {
    const starts = createSemaphore(STARTS_AT_ONCE)
    const start = async (node: NodeDescription) => {
      signal.throwIfAborted()
      this.programs.start(this.specs.rollupNode(node))
      await waitForAnswer(this.clients.get(node.layout.name), 'optimism_rollupConfig', signal)
    }
    await Promise.all(nodes.map((node) => starts.run(() => start(node))))
  }

  /** Stops in the documented order. */
  private async stopPrograms(emit: Emit): Promise<void> {
    const batcherAdmin = this.batcherAdmin()
    const names = this.nodes.map(({ layout }) => layout.name)
    const nodes = [this.sequencer, ...names.filter((name) => name !== this.sequencer)]
    await stopInOrder({ programs: this.programs, l1: this.l1, batcherAdmin, emit }, nodes)
    await batcherAdmin.close()
  }

  private reached(what: string): void {
    const milestone = { what, seconds: secondsSinceStart() }
    this.milestones.push(milestone)
    this.modules.emit({ event: 'progress', ...milestone })
  }
}
