import { createServer, type ServerResponse } from 'node:http'
import { listen } from '../../lib/testUtils/listen.ts'

type Call = { id: unknown; method: string; params: unknown[] }
type Answer = { id: unknown; result?: unknown; error?: unknown }

/** A proxy between a client and a real L1 endpoint. A test can change its answers. */
export interface RpcProxy {
  url: string
  fault: 'none' | 'down' | 'hangs' | 'status'
  /** Changes an answer: called with each call and its correct result. */
  change: ((method: string, result: unknown, params: readonly unknown[]) => unknown) | undefined
  calls: string[]
  stop(): Promise<void>
}

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const answer = async (body: string, response: ServerResponse): Promise<void> => {
    const request = JSON.parse(body) as Call | Call[]
    const calls = Array.isArray(request) ? request : [request]
    proxy.calls.push(...calls.map(({ method }) => method))
    if (proxy.fault === 'down') return void response.destroy()
    if (proxy.fault === 'hangs') return
    if (proxy.fault === 'status') return void response.writeHead(503).end('no')
    const forwarded = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answers = [(await forwarded.json()) as Answer | Answer[]].flat()
    for (const item of answers) {
      const call = calls.find(({ id }) => id === item.id)
      if (call !== undefined && 'result' in item && proxy.change !== undefined) {
        item.result = proxy.change(call.method, item.result, call.params)
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(Array.isArray(request) ? answers : answers[0]))
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    await answer(Buffer.concat(chunks).toString(), response).catch(() => response.destroy())
  })
  const { url, close } = await listen(server)
  const proxy: RpcProxy = {
    url,
    fault: 'none',
    change: undefined,
    calls: [],
    stop: close,
  }
  return proxy
}
