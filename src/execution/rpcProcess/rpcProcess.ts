import type { Socket } from 'node:net'
import { createRpcApp, createUpgradeApp, type InjectedServer, serveInjected } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcDispatcher } from '../../jsonRpc/server.ts'
import { systemClock, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { BlockReader } from '../chain/blockReader.ts'
import { ChainView } from '../chain/chainView.ts'
import type { ChainReads } from '../chain/storage/chainReads.ts'
import { parseChainConfig } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import type { BlockHeader } from '../primitives/block.ts'
import { rpcModules } from '../rpc/namespaces.ts'
import { cacheReads } from './cachedReads.ts'
import { type CallCounts, countCall } from './callCounts.ts'
import type { EngineLink } from './engineLink.ts'
import type { LabelHashes } from './labelsFile.ts'
import type { PortName, PortOptions, RpcProcessOptions, RpcReport, ToRpcProcess } from './messages.ts'
import { createProcessMethods, type ProcessMethods } from './processMethods.ts'
import { addReadyPath } from './readyPath.ts'

const MEBIBYTE = 1024 * 1024
/** Cache sizes of the state. Other reads go to the engine process and take a tenth of a millisecond. */
const CACHES = { maxNodeBytes: 32 * MEBIBYTE, maxCodeBytes: 16 * MEBIBYTE }

export interface RpcProcessModules {
  reads: ChainReads
  /** The engine process's present labels, so that an answer is never older than a block that the client knows. */
  labels: () => LabelHashes
  engine: EngineLink
  logger: Pick<Logger, 'warn' | 'error'>
  onClosed: () => void
}

/** Serves the public ports on connections that the engine process accepted. */
export class RpcProcess {
  private readonly modules: RpcProcessModules
  private readonly options: RpcProcessOptions
  private readonly blocks: BlockReader
  private readonly methods: ProcessMethods
  private readonly servers: Partial<Record<PortName, InjectedServer>>
  private readonly sockets = new Set<Socket>()
  /** Since the last report. The engine process requests reports when its metrics are scraped. */
  private calls: CallCounts = {}
  private webSockets = 0

  constructor(
    modules: RpcProcessModules,
    { config: json, genesis, options }: Extract<ToRpcProcess, { kind: 'start' }>,
  ) {
    this.modules = modules
    this.options = options
    const config = parseChainConfig(json)
    const { labels } = modules
    const reads = cacheReads(modules.reads, labels)
    this.blocks = new BlockReader({ reads }, config)
    const labelled = (hash: Hex | undefined) => (hash === undefined ? undefined : this.header(hash))
    const chain = new ChainView(
      {
        reads,
        blocks: this.blocks,
        labels: {
          head: () => this.header(labels().head),
          safe: () => labelled(labels().safe),
          finalized: () => labelled(labels().finalized),
        },
      },
      { config, genesis: this.header(genesis) },
      CACHES,
    )
    this.methods = createProcessMethods({ chain, engine: modules.engine, logger: modules.logger }, options.rpc)
    const { http, ws } = options.ports
    this.servers = {
      ...(http === undefined ? {} : { http: this.serve(http) }),
      ...(ws === undefined ? {} : { ws: this.serve(ws) }),
    }
  }

  /** Throws ChainError for an unknown block. */
  header(hash: Hex): BlockHeader {
    const found = this.blocks.header(hash)
    if (found === undefined) throw new ChainError('unknown-block', `block ${hash} is not known`)
    return found
  }

  take(port: PortName, socket: Socket): void {
    this.sockets.add(socket)
    socket.once('close', () => {
      this.sockets.delete(socket)
      this.modules.onClosed()
    })
    const server = this.servers[port]
    if (server === undefined) socket.destroy()
    else server.take(socket)
  }

  report(): RpcReport {
    const { calls } = this
    this.calls = {}
    return { calls, ...this.methods.stats(), webSockets: this.webSockets }
  }

  /** Resolves when all connections are closed. */
  async close(): Promise<void> {
    for (const server of Object.values(this.servers)) server.close()
    await Promise.all([...this.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  private serve({ http, webSockets }: PortOptions): InjectedServer {
    const app = http === undefined ? createUpgradeApp() : this.rpcApp(http)
    const { logger } = this.modules
    return serveInjected(app, {
      webSockets: webSockets && {
        dispatcher: this.dispatcher(webSockets.methods),
        allowedOrigins: webSockets.allowedOrigins,
        notification: 'eth_subscription',
        onConnections: (count) => {
          this.webSockets = count
        },
        onDropped: (reason) => logger.warn('A WebSocket client was dropped', { reason }),
      },
    })
  }

  private rpcApp({ readyAgeS, ...http }: NonNullable<PortOptions['http']>): ReturnType<typeof createRpcApp> {
    const app = createRpcApp({ ...http, dispatcher: this.dispatcher(http.methods) })
    const head = () => this.header(this.modules.labels().head)
    const nowS = () => unixSeconds(systemClock)
    if (readyAgeS !== undefined) addReadyPath(app, { head, nowS }, { maxHeadAgeS: readyAgeS })
    return app
  }

  private dispatcher(methods: readonly string[]): RpcDispatcher {
    const { maxBatchSize, isMeasured } = this.options
    return createRpcDispatcher({
      methods: new Map([
        ...methods.map((name) => [name, this.methods.handlerOf(name)] as const),
        ['rpc_modules', rpcModules(methods)],
      ]),
      maxBatchSize,
      ...(isMeasured
        ? { onCall: (method, durationMs, error) => countCall(this.calls, method, durationMs, error) }
        : {}),
      onUnexpectedError: (method, error) => {
        this.modules.logger.error('RPC method failed unexpectedly', { method, err: describeError(error) })
      },
    })
  }
}
