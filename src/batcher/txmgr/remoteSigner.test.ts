import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { describeError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { BATCHER_KEY } from '../testUtils/submitterSetup.ts'
import { createRemoteTxSigner } from './remoteSigner.ts'
import { createLocalSigner } from './signer.ts'
import type { L1Tx } from './transaction.ts'

const local = createLocalSigner({ privateKey: BATCHER_KEY })
const certificates: {
  ca: { cert: string }
  server: { cert: string; key: string }
  client: { cert: string; key: string }
} = JSON.parse(readFileSync(new URL('../../p2p/testUtils/signerCertificates.json', import.meta.url), 'utf8'))

const tx: L1Tx = {
  chainId: 900n,
  nonce: 5,
  fees: { tip: 1_000_000_000n, feeCap: 3_000_000_000n },
  gasLimit: 21_160n,
  to: '0xff00000000000000000000000000000000000901',
  data: Uint8Array.of(0, 1, 2, 3),
}
const blobTx: L1Tx = { ...tx, fees: { ...tx.fees, blobFeeCap: 7n }, blobHashes: [`0x01${'ab'.repeat(31)}`] }

interface Service {
  url: string
  requests: { method: string; params: unknown[] }[]
  answer: () => Promise<object>
}

async function serve(options: { tls?: boolean } = {}): Promise<Service> {
  const service: Service = {
    url: '',
    requests: [],
    answer: async () => ({ result: toHex((await local.signTransaction(tx)).raw) }),
  }
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    service.requests.push({ method, params })
    const answer = method === 'health_status' ? { result: 'v1' } : await service.answer()
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }
  const server = options.tls
    ? createHttpsServer(
        { ...certificates.server, ca: certificates.ca.cert, requestCert: true, rejectUnauthorized: true },
        listener,
      )
    : createHttpServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  service.url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${address.port}`
  return service
}

async function signerOf(options: Partial<RemoteSignerOptions>) {
  const signer = await createRemoteTxSigner(
    { logger: silentLogger, timeoutMs: 30_000 },
    { endpoint: 'http://127.0.0.1:1', address: local.address, headers: {}, ...options },
  )
  onTestFinished(signer.close)
  return signer
}

describe('a remote signer of transactions', () => {
  it("receives op-batcher's request, and its signature is applied to our encoding", async () => {
    const service = await serve()
    const signer = await signerOf({ endpoint: service.url })
    expect(await signer.signTransaction(tx)).toEqual(await local.signTransaction(tx))
    expect(service.requests).toEqual([
      { method: 'health_status', params: [] },
      {
        method: 'eth_signTransaction',
        params: [
          {
            from: local.address,
            to: tx.to,
            gas: '0x52a8',
            gasPrice: null,
            maxFeePerGas: '0xb2d05e00',
            maxPriorityFeePerGas: '0x3b9aca00',
            value: '0x0',
            nonce: '0x5',
            data: null,
            input: '0x00010203',
            accessList: [],
            chainId: '0x384',
          },
        ],
      },
    ])
  })

  it('receives only the hashes of blobs', async () => {
    const service = await serve()
    const signer = await signerOf({ endpoint: service.url })
    service.answer = async () => ({ result: toHex((await local.signTransaction(blobTx)).raw) })
    expect(await signer.signTransaction(blobTx)).toEqual(await local.signTransaction(blobTx))
    expect(service.requests[1]?.params[0]).toMatchObject({
      blobVersionedHashes: blobTx.blobHashes,
      maxFeePerBlobGas: '0x7',
    })
  })

  it.each([
    { id: 'another transaction', signed: { ...tx, to: `0x${'66'.repeat(20)}` as const } },
    { id: 'another nonce', signed: { ...tx, nonce: 6 } },
  ])('is refused if it signs $id', async ({ signed }) => {
    const service = await serve()
    service.answer = async () => ({ result: toHex((await local.signTransaction(signed)).raw) })
    const signer = await signerOf({ endpoint: service.url })
    const error = await signer.signTransaction(tx).catch((thrown: unknown) => thrown)
    expect(describeError(error)).toContain('its fields differ from the request')
    expect(error).toMatchObject({ code: 'signing-failed', severity: 'temporary' })
  })

  it.each([
    {
      id: "another key's signature",
      answer: { key: '11'.repeat(32) },
      problem: `expected the signer ${local.address}`,
    },
    { id: 'an error', answer: { error: { code: -32000, message: 'unauthorized' } }, problem: 'unauthorized' },
    { id: 'no bytes', answer: { result: '0xzz' }, problem: 'signed transaction' },
    { id: 'too little', answer: { result: '0x02c0' }, problem: 'transaction chainId: missing' },
  ])('is refused if it answers with $id', async ({ answer, problem }) => {
    const service = await serve()
    service.answer = async () =>
      'key' in answer
        ? { result: toHex((await createLocalSigner({ privateKey: answer.key }).signTransaction(tx)).raw) }
        : answer
    const signer = await signerOf({ endpoint: service.url })
    expect(describeError(await signer.signTransaction(tx).catch((thrown: unknown) => thrown))).toContain(problem)
  })

  it('must answer at the start', async () => {
    await expect(signerOf({})).rejects.toThrow(errorWith('usage', 'http://127.0.0.1:1', '--signer.endpoint'))
  })

  it('receives our TLS certificate', async () => {
    const service = await serve({ tls: true })
    const dir = await mkdtemp(join(tmpdir(), 'signer-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const file = async (name: string, text: string) => {
      await writeFile(join(dir, name), text)
      return join(dir, name)
    }
    const tls = {
      caPath: await file('ca', certificates.ca.cert),
      certPath: await file('cert', certificates.client.cert),
      keyPath: await file('key', certificates.client.key),
    }
    const signer = await signerOf({ endpoint: service.url, tls })
    expect(await signer.signTransaction(tx)).toEqual(await local.signTransaction(tx))
    await expect(signerOf({ endpoint: service.url })).rejects.toThrow(errorWith('usage', service.url))
    await expect(signerOf({ endpoint: service.url, tls: { ...tls, caPath: join(dir, 'none') } })).rejects.toThrow(
      errorWith('usage', '--signer.tls.ca', '--signer.tls.enabled=false'),
    )
  })
})
