import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunContext } from '../src/cli/shared/program.ts'
import { wantsColours } from '../src/cli/shared/terminal/fullScreen.ts'
import { listenToKeys } from '../src/cli/shared/terminal/keyboard.ts'
import type { HttpServerHandle } from '../src/jsonRpc/httpServer.ts'
import { systemClock } from '../src/lib/clock.ts'
import { DeviumError, describeError, UsageError } from '../src/lib/errors.ts'
import { describeFileError, isFileError } from '../src/lib/fileErrors.ts'
import type { ChainParameters } from './chainParameters.ts'
import { checkClients, clientSuffix, clientsOf, limitsOf, namesOf } from './clients/clients.ts'
import { createCommands, wordsOf } from './commands/commands.ts'
import { startControlServer } from './commands/controlServer.ts'
import { takeCommands } from './commands/standardInput.ts'
import { checkOptions, type TestnetOptions } from './flags.ts'
import { forksAtGenesis, genesisFork, withActivations } from './forks.ts'
import { createInvitation, serveInvitation } from './join/invitation.ts'
import { checkGeth } from './l1/geth/binary.ts'
import { l1Parameters } from './l1/l1Client.ts'
import { type Emit, forkPlan, newestFork } from './runner/events.ts'
import { keptL1 } from './runner/keptL1.ts'
import { checkUpgradeBundle } from './runner/lagoonFiles.ts'
import { nodeNames, type TestnetLayout, testnetLayout } from './runner/layout.ts'
import { checkSameChain, checkSameFork, clearDirectory, lockDirectory, readManifest } from './runner/manifest.ts'
import { assignPorts, checkPortsFree, claimPorts, type TestnetPorts } from './runner/ports.ts'
import { checkDisk, checkMachine, memoryOf, thisMachine } from './runner/resources.ts'
import { describeNodes, openLinks, openToken, type TestnetSetup } from './runner/setup.ts'
import { finishRestore } from './runner/snapshots.ts'
import { Testnet } from './runner/testnet.ts'
import { chooseScenarios, type NamedScenario, optionsFor } from './scenarios/chooseScenarios.ts'
import { runScenarios } from './scenarios/runScenarios.ts'
import { createJsonView } from './view/jsonView.ts'
import { type Controls, createLiveView } from './view/liveView.ts'
import { createPlainView } from './view/plainView.ts'
import type { View } from './view/view.ts'

/** Runs a testnet until it is stopped. */
export async function runTestnet(options: TestnetOptions, context: RunContext): Promise<void> {
  const scenarios = await chooseScenarios(options.scenario)
  const chosen = optionsFor(scenarios, { options, given: context.given })
  try {
    await run(chosen.options, { ...context, given: chosen.given }, scenarios)
  } catch (error) {
    throw withDirectory(error, chosen.options.dir)
  }
}

async function run(
  options: TestnetOptions,
  { signal, fail, given, warnings }: RunContext,
  scenarios: readonly NamedScenario[],
): Promise<void> {
  checkOptions(options)
  const { l1Client } = options
  if (l1Client !== 'anvil') await checkGeth(l1Client.geth)
  const scarcities = checkMachine(options, thisMachine())
  const layout = testnetLayout(resolve(options.dir))
  const unlock = lockDirectory(layout)
  process.once('exit', unlock)
  // Choose the ports first: if that fails, `--reset` must not have deleted anything.
  const ports = await choosePorts(options)
  finishRestore(layout)
  const { chain, resumed, upgradeBundle } = openChain(layout, options, given)
  const limits = clientLimits(options, chain)
  const setup = {
    layout,
    ports,
    host: options.host,
    chain,
    resumed,
    l1Client,
    clients: options.client,
    da: options.da,
    topology: options.topology,
    upgradeBundle,
    token: openToken(layout, options.host),
  }

  const isPlain = options.plain || scenarios.length > 0
  const isInteractive = !options.json && !isPlain && process.stdin.isTTY && process.stdout.isTTY
  const failFast = given.has('fail-fast') ? options.failFast : !isInteractive
  const controls: Controls = {
    listen: (onKey) => listenToKeys(process.stdin, onKey, { clock: systemClock }),
    startAgain: () => testnet.startEndedAgain(),
    run: (line) => commands(wordsOf(line)),
    interrupt: () => process.kill(process.pid, 'SIGINT'),
  }
  const view = createView({ json: options.json, plain: isPlain }, isInteractive ? controls : undefined)
  let isReady = false
  const explain = (error: unknown): unknown =>
    resumed && !isReady && !isFileError(error) && !(error instanceof UsageError)
      ? withResetHint(error)
      : withDirectory(error, layout.dir)
  const listeners: Emit[] = [(event) => view.handle(event)]
  const emit: Emit = (event) => {
    for (const listener of listeners) listener(event)
  }
  const modules = { emit, fail: (error: unknown) => fail(explain(error)) }
  const links = await openLinks(setup)
  const nodeDescriptions = describeNodes(setup, links)
  const testnet = new Testnet({ ...modules, links }, setup, nodeDescriptions, { failFast })
  const ready = Promise.withResolvers<void>()
  const commands = createCommands(testnet, modules.emit, ready.promise)
  // Nothing is left behind after a second Ctrl-C, or a bug of the runner.
  const onExit = () => {
    testnet.kill()
    view.close()
  }
  process.once('exit', onExit)
  // The terminal closed, or the reader of standard output ended. Stop in order.
  const stopByItself = () => process.kill(process.pid, 'SIGTERM')
  process.once('SIGHUP', stopByItself)
  process.stdout.once('error', stopByItself).on('error', () => {})
  const { nodes } = options
  const memoryBytes = memoryOf(options)
  view.handle({ event: 'starting', dir: layout.dir, resumed, nodes, memoryBytes, forks: forkPlan(chain) })
  for (const message of [...warnings, ...scarcities, ...limits]) view.handle({ event: 'warning', message })
  let failure: unknown
  let control: Pick<HttpServerHandle, 'close'> | undefined
  let invitation: HttpServerHandle | undefined
  try {
    const first = { peerId: nodeDescriptions[0]?.peerId ?? '', transactions: links.entrancePort }
    invitation = await serveInvitation(() => createInvitation(setup, first), setup.host, ports.join)
    control = await startControlServer(commands, layout.control)
    await testnet.start(signal)
    isReady = true
    ready.resolve()
    if (!failFast && !process.stdin.isTTY) takeCommands(commands, modules.emit)
    if (scenarios.length === 0) await watch(testnet, view, signal)
    else {
      const listen = (listener: Emit) => void listeners.push(listener)
      await runScenarios(scenarios, { testnet, runCommand: commands, emit, listen }, layout.dir, signal)
    }
  } catch (error) {
    failure = signal.aborted ? error : explain(error)
  }
  const reason = signal.aborted ? signal.reason : failure
  const described = reason === undefined ? 'the scenarios have ended' : describeError(reason)
  view.handle({ event: 'stopping', reason: described.split('\n')[0] ?? '' })
  await control?.close()
  await invitation?.close()
  await testnet.stop()
  view.handle({ event: 'stopped' })
  view.close()
  process.off('exit', onExit)
  if (failure !== undefined) throw failure
}

/** A kept chain may fail to start because its data is damaged. */
function withResetHint(error: unknown): DeviumError {
  const hint = 'if the data of the kept chain are damaged, --reset begins a new one'
  return new DeviumError('kept-chain', `${describeError(error)}\n  ${hint}`)
}

/** The system's error for a file does not name the testnet's directory. */
function withDirectory(error: unknown, dir: string): unknown {
  if (!isFileError(error)) return error
  const path = error.path === undefined || error.path === dir ? '' : ` (${error.path})`
  return new UsageError(`cannot use --dir ${dir}: ${describeFileError(error)}${path}`)
}

/** The limitations of each node with third-party programs. */
function clientLimits({ client, nodes }: TestnetOptions, chain: ChainParameters): string[] {
  return nodeNames(nodes).flatMap((name) => {
    const own = clientsOf(client, name)
    return limitsOf(own, newestFork(chain)).map((limit) => `${name}${clientSuffix(namesOf(own))}: ${limit}`)
  })
}

/** The kept chain, or the parameters of a new one. */
function openChain(
  layout: TestnetLayout,
  options: TestnetOptions,
  given: ReadonlySet<string>,
): Pick<TestnetSetup, 'chain' | 'resumed' | 'upgradeBundle'> {
  const { chainId, l1ChainId, blockTime, l1BlockTime, forkAt } = options
  const wanted = { l1ChainId, l2ChainId: chainId, blockTime, l1BlockTime }
  const fork = given.has('fork') ? options.fork : undefined
  const now = Math.floor(Date.now() / 1000)
  const manifest = options.reset ? undefined : readManifest(layout)
  if (manifest?.complete === true) {
    const kept = manifest.chain
    checkSameChain(kept, wanted, given)
    if (fork !== undefined) checkSameFork(kept, fork)
    // The same command line may run again: its forks are already set.
    const news = forkAt.filter((activation) => kept.forks[activation.fork] === undefined)
    const forks = withActivations(kept.forks, news, { startTime: now, blockTime: kept.blockTime })
    checkClients(options.client, nodeNames(options.nodes), newestFork({ forks }))
    const upgradeBundle = checkUpgradeBundle(options.upgradeBundle, { forks }, layout)
    const l1 = keptL1(kept, options, { given, now })
    const blockTimes = given.has('l1-block-time') ? { l1BlockTime } : {}
    const chain = { ...kept, forks, ...blockTimes, ...(l1 === undefined ? {} : { l1 }) }
    return { chain, resumed: true, upgradeBundle }
  }
  const atGenesis = forksAtGenesis(genesisFork(fork, forkAt))
  const forks = withActivations(atGenesis, forkAt, { startTime: now, blockTime })
  checkClients(options.client, nodeNames(options.nodes), newestFork({ forks }))
  const upgradeBundle = checkUpgradeBundle(options.upgradeBundle, { forks }, undefined)
  clearDirectory(layout)
  checkDisk(options.nodes, layout.dir)
  const l1 = l1Parameters(options.l1Client, options.l1ForkAt, now)
  const chain = { ...wanted, genesisTime: now, forks, ...(l1 === undefined ? {} : { l1 }) }
  return { chain, resumed: false, upgradeBundle }
}

async function choosePorts({ basePort, nodes, host }: TestnetOptions): Promise<TestnetPorts> {
  if (basePort === 0) return claimPorts(nodes, host)
  const ports = assignPorts(basePort, nodes)
  await checkPortsFree(ports, host)
  return ports
}

function createView({ json, plain }: Pick<TestnetOptions, 'json' | 'plain'>, controls: Controls | undefined): View {
  const { stdout } = process
  if (json) return createJsonView(stdout)
  if (plain || !stdout.isTTY) return createPlainView(stdout)
  const modules = { terminal: stdout, now: () => Date.now(), isColoured: wantsColours(stdout) }
  return createLiveView(controls === undefined ? modules : { ...modules, controls })
}

/** Shows the status until the signal aborts. */
async function watch(testnet: Testnet, view: View, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    view.handle({ event: 'status', ...(await testnet.status()) })
    await delay(view.statusIntervalMs, undefined, { signal }).catch(() => {})
  }
}
