import { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { readOverChannel } from '../chain/storage/chainReads.ts'
import { EngineLink } from './engineLink.ts'
import { createLabelsReader } from './labelsFile.ts'
import type { FromRpcProcess, ToRpcProcess } from './messages.ts'
import { RpcProcess } from './rpcProcess.ts'
import { readFromEngine } from './syncReads.ts'

// An RPC process of devium-geth. It serves the public HTTP and WebSocket ports.

/** Descriptor of the labels file, after the pipes and Node's channel. */
const LABELS = 5

// The name in `ps` and `top`.
process.title = 'devium-rpc'
// With one core, blocks have priority, and calls still get a quarter of the core.
setPriority(5)
// systemd and terminals signal every process. The engine process decides when to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// The engine process has ended. A normal exit would wait for an addon's threads.
const end = (): void => void process.kill(process.pid, 'SIGKILL')
process.on('disconnect', end)

const send = (message: FromRpcProcess): void => {
  // A failure means that the engine process has ended.
  process.send?.(message, undefined, undefined, () => {})
}
const log =
  (level: 'warn' | 'error') =>
  (message: string, fields: Record<string, unknown> = {}) =>
    send({ kind: 'log', level, message, fields })
const logger = { warn: log('warn'), error: log('error') }
const engine = new EngineLink(send)
let rpc: RpcProcess | undefined

process.on('message', (message: ToRpcProcess, handle: unknown) => {
  switch (message.kind) {
    case 'start':
      rpc = new RpcProcess(
        {
          reads: readOverChannel(readFromEngine),
          labels: createLabelsReader(LABELS),
          engine,
          logger,
          onClosed: () => send({ kind: 'closed' }),
        },
        message,
      )
      return
    case 'connection':
      send({ kind: 'taken', id: message.id })
      // The client may have disconnected before the socket arrived.
      if (handle instanceof Socket) rpc?.take(message.port, handle)
      else send({ kind: 'closed' })
      return
    case 'report': {
      const report = rpc?.report()
      if (report !== undefined) send({ kind: 'report', id: message.id, report })
      return
    }
    case 'watch':
      send({ kind: 'alive' })
      return
    case 'close':
      void rpc?.close().finally(end)
      return
    default:
      engine.take(message, (hash) => rpc?.header(hash))
  }
})
send({ kind: 'ready' })
