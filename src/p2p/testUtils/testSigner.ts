import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { fromHex, toHex } from '../../lib/hex.ts'
import { listen } from '../../lib/testUtils/listen.ts'
import { signPayloadHash } from '../signer/blockSigner.ts'
import certificates from './signerCertificates.json' with { type: 'json' }

export interface TestSigner {
  url: string
  /** Received requests with their headers. */
  requests: { method: string; params: unknown[]; headers: NodeJS.Dict<string | string[]> }[]
  /** Answers of the next requests for a signature: JSON-RPC members, or `hang`. Default: the signature. */
  next: ({ result: unknown } | { error: { code: number; message: string } } | 'hang' | 'drop')[]
  /** True: `health_status` fails. */
  isIll: boolean
  close(): Promise<void>
}

/** A service with op-signer's JSON-RPC on a loopback port. With `tls` it requires a client certificate. */
export async function startTestSigner(key: Uint8Array, options: { tls?: boolean } = {}): Promise<TestSigner> {
  const signer: TestSigner = { url: '', requests: [], next: [], isIll: false, close: async () => {} }
  const answer: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
      signer.requests.push({ method, params, headers: request.headers })
      const send = (members: object): void => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, ...members }))
      }
      if (method === 'health_status') {
        return send(signer.isIll ? { error: { code: -32000, message: 'key store is sealed' } } : { result: 'v1.2.3' })
      }
      const next = signer.next.shift()
      if (next === 'hang') return
      if (next === 'drop') return void request.socket.destroy()
      if (next !== undefined) return send(next)
      const { chainId, payloadHash } = params[0]
      send({ result: toHex(signPayloadHash(BigInt(chainId), Buffer.from(payloadHash, 'base64'), key)) })
    })
  }
  const { ca, server: own } = certificates
  const server =
    options.tls === true
      ? createHttpsServer({ ...own, ca: ca.cert, requestCert: true, rejectUnauthorized: true }, answer)
      : createHttpServer(answer)
  const { port, close } = await listen(server)
  return Object.assign(signer, { url: `${options.tls === true ? 'https' : 'http'}://127.0.0.1:${port}`, close })
}

export const TEST_SIGNER_KEY = fromHex('47'.repeat(32))
