import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../../../src/lib/testUtils/listen.ts'

// Endpoints for programs under test, each at its own port.

export interface FakeServer {
  url: string
  /** Called methods, or requested paths, in order. */
  calls: string[]
  /** Resolves when this method or path has been called, or any if absent. */
  called(name?: string): Promise<void>
  close(): Promise<void>
}

export type RpcAnswer = (method: string, params: unknown[]) => unknown

/** A response that never arrives. */
export const SILENCE: Promise<never> = new Promise(() => {})

interface Call {
  id: unknown
  method: string
  params: unknown[]
}

/** A JSON-RPC server. An error thrown by `answer` is the error of the call. */
export function startFakeRpc(answer: RpcAnswer): Promise<FakeServer> {
  return startServer(async (request, response, note) => {
    const body = JSON.parse(await text(request)) as Call | Call[]
    const answered = async ({ id, method, params }: Call) => {
      note(method)
      try {
        return { jsonrpc: '2.0', id, result: await answer(method, params) }
      } catch (error) {
        return { jsonrpc: '2.0', id, error: { code: -32601, message: String(error) } }
      }
    }
    const answers = Array.isArray(body) ? await Promise.all(body.map(answered)) : await answered(body)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers))
  })
}

/** A beacon API that serves `blobsAt` for each slot. */
export function startFakeBeacon(genesisTime: number, blobsAt: (slot: number) => unknown): Promise<FakeServer> {
  return startServer(async (request, response, note) => {
    const path = request.url?.split('?')[0] ?? ''
    note(path.replace(/\d+$/, ''))
    const slot = Number(/^\/eth\/v1\/beacon\/blobs\/(\d+)$/.exec(path)?.[1])
    const data = path.endsWith('/version')
      ? { version: 'fake' }
      : path.endsWith('/genesis')
        ? { genesis_time: String(genesisTime) }
        : path.endsWith('/spec')
          ? { SECONDS_PER_SLOT: '1' }
          : await blobsAt(slot)
    response.writeHead(data === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data }))
  })
}

type Serve = (request: IncomingMessage, response: ServerResponse, note: (name: string) => void) => Promise<void>

async function startServer(serve: Serve): Promise<FakeServer> {
  const calls: string[] = []
  const waiting = new Set<() => void>()
  const note = (name: string): void => {
    calls.push(name)
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  const server = createServer((request, response) => {
    // The client has disconnected.
    serve(request, response, note).catch(() => response.destroy())
  })
  const { url, close } = await listen(server)
  return {
    url,
    calls,
    async called(name) {
      while (name === undefined ? calls.length === 0 : !calls.includes(name))
        await new Promise<void>((resolve) => waiting.add(() => resolve()))
    },
    close,
  }
}
