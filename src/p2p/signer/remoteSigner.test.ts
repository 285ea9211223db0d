import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { privateKeyToAddress } from '../../lib/secp256k1.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import { P2pError } from '../base/errors.ts'
import { folderInTest } from '../testUtils/inTest.ts'
import certificates from '../testUtils/signerCertificates.json' with { type: 'json' }
import { startTestSigner, TEST_SIGNER_KEY, type TestSigner } from '../testUtils/testSigner.ts'
import { thrownBy } from '../testUtils/throwsOnly.ts'
import { type BlockSigner, signPayloadHash } from './blockSigner.ts'
import { createRemoteSigner } from './remoteSigner.ts'

const ADDRESS = privateKeyToAddress(TEST_SIGNER_KEY)
const HASH = new Uint8Array(32).fill(7)
const signed = (hash: Uint8Array, key = TEST_SIGNER_KEY) => ({ result: toHex(signPayloadHash(901n, hash, key)) })

async function serve(options: { tls?: boolean } = {}): Promise<TestSigner> {
  const server = await startTestSigner(TEST_SIGNER_KEY, options)
  onTestFinished(server.close)
  return server
}

async function client(options: Partial<RemoteSignerOptions>, timeoutMs = WAIT_LIMIT_MS): Promise<BlockSigner> {
  const signer = await createRemoteSigner({ logger: silentLogger, timeoutMs, healthTimeoutMs: WAIT_LIMIT_MS }, 901n, {
    endpoint: 'http://127.0.0.1:1',
    address: ADDRESS,
    headers: {},
    ...options,
  })
  onTestFinished(signer.stop)
  return signer
}

async function failureOf(promise: Promise<unknown>): Promise<{ error: unknown; text: string }> {
  const error = await thrownBy(promise)
  return { error, text: describeError(error) }
}

describe('remote signer', () => {
  it("sends op-node's request, and returns the signature of the key", async () => {
    const server = await serve()
    const signer = await client({ endpoint: server.url, headers: { 'x-api-key': 'secret' } })
    expect(toHex(await signer.sign(HASH))).toBe(toHex(signPayloadHash(901n, HASH, TEST_SIGNER_KEY)))
    expect(server.requests.map(({ method, params }) => ({ method, params }))).toEqual([
      { method: 'health_status', params: [] },
      {
        method: 'opsigner_signBlockPayload',
        params: [
          {
            domain: new Array(32).fill(0),
            chainId: 901,
            payloadHash: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=',
            senderAddress: ADDRESS,
          },
        ],
      },
    ])
    for (const { headers } of server.requests) expect(headers['x-api-key']).toBe('secret')
  })

  it('refuses to start with an unhealthy signer', async () => {
    const server = await serve()
    server.isIll = true
    const ill = await failureOf(client({ endpoint: server.url }))
    expect(ill.error).toBeInstanceOf(UsageError)
    expect(ill.text).toContain('key store is sealed')
  })

  it.each([
    ['an error', { error: { code: -32000, message: 'unauthorized' } }, 'unauthorized'],
    ['a result that is not text', { result: { signature: '0x' } }, 'hex'],
    ['too few bytes', { result: `0x${'00'.repeat(64)}` }, '64'],
    ['a recovery id of another kind', { result: `0x${'01'.repeat(64)}1b` }, '27'],
    ['no signature', { result: `0x${'00'.repeat(65)}` }, 'public key'],
    ["another key's signature", signed(HASH, new Uint8Array(32).fill(1)), ADDRESS],
    ['the signature of another block', signed(new Uint8Array(32)), ADDRESS],
  ])('refuses %s', async (_what, next, expected) => {
    const server = await serve()
    const signer = await client({ endpoint: server.url })
    server.next.push(next)
    const { error, text } = await failureOf(signer.sign(HASH))
    expect(error).toBeInstanceOf(P2pError)
    expect(error).toMatchObject({ code: 'signing-failed' })
    expect(text).toContain(expected)
    await expect(signer.sign(HASH)).resolves.toHaveLength(65)
  })

  it('rejects after its time limit', async () => {
    const server = await serve()
    const signer = await client({ endpoint: server.url }, 2_000)
    server.next.push('hang')
    expect((await failureOf(signer.sign(HASH))).text).toMatch(/\b2000\b/)
  })

  it('retries once when the connection closes', async () => {
    const server = await serve()
    const signer = await client({ endpoint: server.url })
    server.next.push('drop')
    await expect(signer.sign(HASH)).resolves.toHaveLength(65)
    server.next.push('drop', 'drop')
    expect((await failureOf(signer.sign(HASH))).error).toMatchObject({ code: 'signing-failed' })
  })

  it("sends its certificate, checks the server's, and reloads renewed files", async () => {
    const server = await serve({ tls: true })
    const folder = await folderInTest()
    const tls = { caPath: join(folder, 'ca.crt'), certPath: join(folder, 'tls.crt'), keyPath: join(folder, 'tls.key') }
    const write = async (who: { cert: string; key: string }, authority = certificates.ca.cert): Promise<void> => {
      await writeFile(tls.caPath, authority)
      await writeFile(tls.certPath, who.cert)
      await writeFile(tls.keyPath, who.key)
    }
    await expect(client({ endpoint: server.url, tls })).rejects.toThrow(
      errorWith('usage', tls.caPath, '--signer.tls.ca'),
    )

    await write(certificates.untrusted)
    expect((await failureOf(client({ endpoint: server.url, tls }))).error).toBeInstanceOf(UsageError)
    await write(certificates.client)
    const signer = await client({ endpoint: server.url, tls })
    await expect(signer.sign(HASH)).resolves.toHaveLength(65)

    await write(certificates.client, certificates.untrusted.cert)
    expect((await failureOf(client({ endpoint: server.url, tls }))).text).toMatch(/certificate/)
    expect((await failureOf(client({ endpoint: server.url }))).error).toBeInstanceOf(UsageError)

    // The open connection stays in use. When it closes, the current files are read.
    await write(certificates.client)
    server.next.push('drop')
    await expect(signer.sign(HASH)).resolves.toHaveLength(65)
    await write(certificates.untrusted)
    server.next.push('drop')
    expect((await failureOf(signer.sign(HASH))).error).toMatchObject({ code: 'signing-failed' })
    await write(certificates.client)
    await expect(signer.sign(HASH)).resolves.toHaveLength(65)
  })

  it('refuses a chain id above the safe integers of JSON', async () => {
    const made = createRemoteSigner({ logger: silentLogger }, 2n ** 53n, {
      endpoint: 'http://127.0.0.1:1',
      address: ADDRESS,
      headers: {},
    })
    await expect(made).rejects.toThrow(errorWith('usage', '--signer.endpoint', 2n ** 53n))
  })
})
