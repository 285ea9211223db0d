import type { ChildProcess } from 'node:child_process'
import { createServer, type Server, Socket } from 'node:net'
import { join } from 'node:path'
import { type BodyChunks, bytesOf } from '../../jsonRpc/bodyChunks.ts'
import type { SendPart } from '../../jsonRpc/callContext.ts'
import { listen } from '../../jsonRpc/httpServer.ts'
import type { RpcDispatcher } from '../../jsonRpc/server.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { startChildProgram } from '../../lib/workProcess/childProgram.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import type { Chain } from '../chain/opChain.ts'
import { answerChainRead } from '../chain/storage/chainReads.ts'
import type { HeadChange } from '../chain/types.ts'
import type { BlockHeader } from '../primitives/block.ts'
import type { RpcPool } from '../rpc/context.ts'
import { addCounts, type CallCounts } from './callCounts.ts'
import { LabelsFile } from './labelsFile.ts'
import type { FromRpcProcess, PortName, RpcProcessOptions, RpcReport, ToRpcProcess } from './messages.ts'
import { answerReads } from './syncReads.ts'

/** V8 flags of an RPC process: 256 MB for caches and calls, and young generations large enough for answers of a megabyte. */
const HEAP_FLAGS = ['--max-old-space-size=256', '--max-semi-space-size=16']
/** V8 flag of the engine process that saves memory (bin/launch.mjs). RPC processes inherit it. */
const INHERITED_FLAG = /^--heap-growing-percent=/
/** Interval of the liveness checks. */
const WATCH_MS = 20_000
/** A process that leaves this many checks unanswered is replaced. Enough for an overloaded machine. */
const MAX_UNANSWERED = 3
/** A process that does not answer for this long is missing in a report. */
const REPORT_MS = 2_000
/** A process without connections for this long ends, so that the memory of its calls returns to the system. */
const IDLE_MS = 60_000
/** Connections that wait for a process to start or to receive them. */
const MAX_WAITING_CONNECTIONS = 512
/** Failed starts in a row after which the waiting connections are closed. */
const MAX_FAILED_STARTS = 3
/** Time for unfinished answers when the program ends. */
const CLOSING_MS = 1_000

const pauseMs = exponentialBackoff(100, 10_000)
const decoder = new TextDecoder()
const OWN_FILE = programFile('rpcMain', import.meta.url)

export interface RpcProcessesModules {
  chain: Chain
  pool: Pick<RpcPool, 'onAdded'>
  /** Runs the methods that RPC processes cannot run. */
  dispatcher: RpcDispatcher
  clock: Clock
  logger: Logger
  /** Closes all processes. */
  signal?: AbortSignal | undefined
}

export interface RpcProcessesOptions extends RpcProcessOptions {
  /** Most RPC processes. */
  workers: number
  /** For tests: the program to run instead. */
  file?: URL
}

interface Connection {
  port: PortName
  socket: Socket
}

interface RpcProcessHandle {
  child: ChildProcess
  closed: Promise<string>
  /** Connections on their way to the process. If it ends, another process gets them. */
  sent: Map<number, Connection>
  connections: number
  /** When the last connection closed. */
  idleSinceMs: number
  isReady: boolean
  /** Liveness checks since its last message. Counted, because the clock also advances while the machine is paused. */
  unanswered: number
  /** Requests of the process that are being answered. */
  requests: Map<number, PendingRequest>
  /** Ends the process's subscriptions. */
  unsubscribe: (() => void)[]
}

interface PendingRequest {
  /** Aborts when the client has disconnected or the process has ended. */
  aborted: AbortController
  /** Called when the client has read the last part. */
  more: () => void
}

/**
 * The RPC processes of an engine process. They serve the public ports. The engine process accepts connections and gives
 * each to the process with the fewest. The first connection starts the first process. A process that ends closes its
 * connections; the next connection starts another process.
 */
export class RpcProcesses {
  private readonly modules: RpcProcessesModules
  private readonly options: RpcProcessesOptions
  private readonly servers: Server[] = []
  private readonly processes = new Set<RpcProcessHandle>()
  private readonly waiting: Connection[] = []
  private readonly reports = new Map<number, (report: RpcReport) => void>()
  /** Since the last report. */
  private calls: CallCounts = {}
  private labels: LabelsFile | undefined
  private ids = 0
  private broken = 0
  private failedStarts = 0
  private cancelPause: (() => void) | undefined
  private cancelWatch = () => {}
  private closing: Promise<void> | undefined

  constructor(modules: RpcProcessesModules, options: RpcProcessesOptions) {
    this.modules = modules
    this.options = options
    whenAborted(modules.signal, () => void this.close())
  }

  /**
   * Binds a public port. Throws UsageError with the flag in `what` if the port is in use, or if the datadir is not
   * writable.
   */
  async listen(name: PortName, host: string, port: number, what: string): Promise<{ url: string; port: number }> {
    // Not with the first connection: an error there would end the engine process.
    this.labels ??= new LabelsFile(this.modules.chain, join(this.options.rpc.datadir, 'geth'))
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => this.take(name, socket))
    this.servers.push(server)
    return listen(server, host, port, what)
  }

  /** Processes, their connections, and processes that ended unexpectedly. */
  stats(): { processes: number; connections: number; broken: number } {
    const connections = [...this.processes].reduce((sum, { connections }) => sum + connections, 0)
    return { processes: this.processes.size, connections, broken: this.broken }
  }

  pids(): number[] {
    return [...this.processes].map(({ child }) => child.pid ?? 0)
  }

  /** The sums of all processes. */
  async report(): Promise<RpcReport> {
    const ready = [...this.processes].filter(({ isReady }) => isReady)
    const reports = await Promise.all(ready.map((process) => this.reportOf(process)))
    const sum = (name: 'running' | 'waiting' | 'webSockets') =>
      reports.reduce((all, report) => all + (report?.[name] ?? 0), 0)
    const { calls } = this
    this.calls = {}
    return { calls, running: sum('running'), waiting: sum('waiting'), webSockets: sum('webSockets') }
  }

  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private take(port: PortName, socket: Socket): void {
    socket.on('error', () => socket.destroy())
    const sent = [...this.processes].reduce((sum, process) => sum + process.sent.size, 0)
    const isFull = this.waiting.length + sent >= MAX_WAITING_CONNECTIONS
    if (isFull || this.closing !== undefined) return void socket.destroy()
    this.waiting.push({ port, socket })
    this.dispatch()
  }

  private dispatch(): void {
    for (;;) {
      const [least] = [...this.processes].sort((a, b) => a.connections - b.connections)
      const mayStart = this.cancelPause === undefined && this.processes.size < this.options.workers
      const process = mayStart && (least === undefined || least.connections > 0) ? undefined : least
      if (this.waiting.length === 0 || (process === undefined && !mayStart)) return
      const next = this.waiting.shift()
      if (next !== undefined) this.give(process ?? this.start(), next)
    }
  }

  private give(process: RpcProcessHandle, connection: Connection): void {
    const id = ++this.ids
    process.connections += 1
    process.sent.set(id, connection)
    this.send(process, { kind: 'connection', id, port: connection.port }, connection.socket)
  }

  private send({ child }: RpcProcessHandle, message: ToRpcProcess, socket?: Socket): void {
    // Failures show in the end of the process.
    if (child.connected) child.send(message, socket, { keepOpen: true }, () => {})
  }

  private start(): RpcProcessHandle {
    const { chain, clock } = this.modules
    const { file = OWN_FILE, workers: _, ...options } = this.options
    const { child, closed, ended } = startChildProgram(file, clock, {
      flags: [...process.execArgv.filter((flag) => INHERITED_FLAG.test(flag)), ...HEAP_FLAGS],
      // Descriptor 3 is the pipe for reads (see syncReads), descriptor 5 the labels file.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc', this.labels?.descriptor],
    })
    const handle: RpcProcessHandle = {
      child,
      closed,
      sent: new Map(),
      connections: 0,
      idleSinceMs: clock.now(),
      isReady: false,
      unanswered: 0,
      requests: new Map(),
      unsubscribe: [],
    }
    if (this.processes.size === 0) this.watch()
    this.processes.add(handle)
    const pipe = child.stdio?.[3]
    const reads = chain.chainReads()
    if (pipe instanceof Socket) answerReads(pipe, (request) => answerChainRead(reads, request))
    child.on('message', (message: FromRpcProcess) => this.onMessage(handle, message))
    void ended.then((why) => this.onEnd(handle, why))
    const { config, genesis } = chain
    this.send(handle, { kind: 'start', config: config.json, genesis: genesis.hash, options })
    return handle
  }

  private onMessage(process: RpcProcessHandle, message: FromRpcProcess): void {
    process.unanswered = 0
    switch (message.kind) {
      case 'ready':
        process.isReady = true
        this.failedStarts = 0
        return
      case 'request':
        void this.answer(process, message)
        return
      case 'more':
        process.requests.get(message.id)?.more()
        return
      case 'cancel':
        process.requests.get(message.id)?.aborted.abort(new Error('the client has disconnected'))
        return
      case 'subscribe':
        this.subscribe(process, message)
        return
      case 'taken':
        process.sent.get(message.id)?.socket.destroy()
        process.sent.delete(message.id)
        return
      case 'closed':
        process.connections -= 1
        process.idleSinceMs = this.modules.clock.now()
        return
      case 'report':
        // Here, so that a late answer counts in the next report.
        addCounts(this.calls, message.report.calls)
        this.reports.get(message.id)?.(message.report)
        return
      case 'log':
        this.modules.logger[message.level](message.message, message.fields)
    }
  }

  private async answer(
    process: RpcProcessHandle,
    { id, request }: Extract<FromRpcProcess, { kind: 'request' }>,
  ): Promise<void> {
    const pending: PendingRequest = { aborted: new AbortController(), more: () => {} }
    const { signal } = pending.aborted
    process.requests.set(id, pending)
    const send = (part: BodyChunks, isEnd: boolean) =>
      this.send(process, { kind: 'answer', id, text: decoder.decode(bytesOf(part)), isEnd })
    const sendPart: SendPart = async (part) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      pending.more = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      send(part, false)
      await promise
    }
    try {
      const rest = await this.modules.dispatcher.handle(request, { signal, isOver: () => signal.aborted, sendPart })
      send(rest ?? [], true)
    } catch (error) {
      // A part was sent, and then the client disconnected.
      this.modules.logger.debug('An answer was cancelled before its end', { err: describeError(error) })
    } finally {
      process.requests.delete(id)
    }
  }

  private subscribe(process: RpcProcessHandle, wanted: { heads: boolean; transactions: boolean }): void {
    const { chain, pool } = this.modules
    for (const unsubscribe of process.unsubscribe.splice(0)) unsubscribe()
    if (wanted.heads) {
      const hashesOf = (headers: readonly BlockHeader[]) => headers.map(({ hash }) => hash)
      const onHead = ({ head, removed, added }: HeadChange) =>
        this.send(process, { kind: 'head', head: head.hash, removed: hashesOf(removed), added: hashesOf(added) })
      process.unsubscribe.push(chain.onHead(onHead))
    }
    if (wanted.transactions) {
      process.unsubscribe.push(pool.onAdded((transaction) => this.send(process, { kind: 'transaction', transaction })))
    }
  }

  private onEnd(process: RpcProcessHandle, why: string): void {
    for (const unsubscribe of process.unsubscribe) unsubscribe()
    for (const { aborted } of process.requests.values()) aborted.abort(new Error('the process has ended'))
    // A retired process is not in the set any more.
    if (!this.processes.delete(process)) return
    if (this.processes.size === 0) this.cancelWatch()
    if (this.closing !== undefined) return
    this.broken += 1
    this.modules.logger.warn('An RPC process ended', { why, connections: process.connections })
    this.waiting.push(...process.sent.values())
    if (!process.isReady) {
      if (this.failedStarts >= MAX_FAILED_STARTS) this.dropWaiting()
      this.cancelPause?.()
      this.cancelPause = this.modules.clock.setTimeout(
        () => {
          this.cancelPause = undefined
          this.dispatch()
        },
        pauseMs(this.failedStarts++),
      )
    }
    this.dispatch()
  }

  private dropWaiting(): void {
    for (const { socket } of this.waiting.splice(0)) socket.destroy()
  }

  private watch(): void {
    this.cancelWatch = this.modules.clock.setTimeout(() => {
      this.watch()
      // After a stall of this process, the messages that have arrived meanwhile are read first.
      setImmediate(() => this.checkAlive())
    }, WATCH_MS)
  }

  /** Replaces processes that hang. Ends processes without connections. */
  private checkAlive(): void {
    const now = this.modules.clock.now()
    for (const process of this.processes) {
      if (process.connections === 0 && now - process.idleSinceMs > IDLE_MS) this.retire(process)
      else if (process.unanswered >= MAX_UNANSWERED) process.child.kill('SIGKILL')
      else {
        process.unanswered += 1
        this.send(process, { kind: 'watch' })
      }
    }
    if (this.processes.size === 0) this.cancelWatch()
  }

  /** Kills a process without connections, even if it hangs: it has nothing to finish. The next connection starts another. */
  private retire(process: RpcProcessHandle): void {
    this.processes.delete(process)
    process.child.kill('SIGKILL')
  }

  /** Undefined if the process ends meanwhile, or does not answer in time. */
  private async reportOf(process: RpcProcessHandle): Promise<RpcReport | undefined> {
    const id = ++this.ids
    const { promise, resolve } = Promise.withResolvers<RpcReport | undefined>()
    const giveUp = () => resolve(undefined)
    this.reports.set(id, resolve)
    process.child.once('exit', giveUp)
    const cancel = this.modules.clock.setTimeout(giveUp, REPORT_MS)
    this.send(process, { kind: 'report', id })
    try {
      return await promise
    } finally {
      process.child.off('exit', giveUp)
      cancel()
      this.reports.delete(id)
    }
  }

  private async end(): Promise<void> {
    this.cancelPause?.()
    this.cancelWatch()
    this.dropWaiting()
    const ended = [...this.processes].map(({ closed }) => closed)
    for (const process of this.processes) this.send(process, { kind: 'close' })
    // The ports are free at once. Node's callback would wait for the connections of the processes.
    for (const server of this.servers) server.close()
    const cancel = this.modules.clock.setTimeout(() => {
      for (const { child } of this.processes) child.kill('SIGKILL')
    }, CLOSING_MS)
    await Promise.all(ended)
    cancel()
    this.labels?.close()
  }
}
