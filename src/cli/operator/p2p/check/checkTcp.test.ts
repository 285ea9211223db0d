import { createServer as createHttpServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startDeafListener } from '../../../../p2p/testUtils/deafListener.ts'
import { CLOSED_PORT, listenInTest, startRawServer } from '../../../../p2p/testUtils/rawServer.ts'
import { check, outcomes, step } from './testUtils/checking.ts'

describe('a port', () => {
  it('that is closed', async () => {
    const report = await check(`/ip4/127.0.0.1/tcp/${CLOSED_PORT}`)
    expect(outcomes(report)).toBe('address warning, tcp failed')
    expect(report).toMatchObject({
      failedAt: 'tcp',
      verdict: `failed at tcp: 127.0.0.1:${CLOSED_PORT} refuses connections: nothing listens there`,
    })
    expect(step(report, 'tcp')?.data).toEqual({ reason: 'refused' })
  })

  it.skipIf(process.platform !== 'linux')('that does not answer, as behind a firewall', async () => {
    const deaf = await startDeafListener()
    onTestFinished(deaf.close)
    const report = await check(`/ip4/127.0.0.1/tcp/${deaf.port}`, { timeoutMs: 300 })
    expect(step(report, 'tcp')).toMatchObject({
      outcome: 'failed',
      text: `127.0.0.1:${deaf.port} does not answer`,
      data: { reason: 'timeout' },
    })
  })

  it.each([
    ['says nothing', undefined, /^no libp2p answer within [\d.]+ m?s$/],
    ['waits for more of a greeting of its own', 'SSH-2.0-OpenSSH_9\r\n', /^no libp2p answer within [\d.]+ m?s$/],
    ['greets in another way', '\u0000\u0001\u001b[2J', /^the service on that port does not speak libp2p/],
  ])('that %s', async (_, words, pattern) => {
    const address = await startRawServer((socket) => {
      if (words !== undefined) socket.once('data', () => socket.write(words, 'latin1'))
    })
    const report = await check(address, { timeoutMs: 5_000 })
    expect(step(report, 'security')).toMatchObject({
      outcome: 'failed',
      text: expect.stringMatching(pattern),
      hint: expect.stringMatching(/another service/),
    })
  })

  it('of a web server', async () => {
    const report = await check(await listenInTest(createHttpServer((_, response) => response.end())))
    expect(step(report, 'security')).toMatchObject({ outcome: 'failed', hint: expect.any(String) })
  })

  it('that closes at once', async () => {
    const report = await check(await startRawServer((socket) => socket.end()))
    expect(step(report, 'security')).toMatchObject({
      outcome: 'failed',
      text: expect.stringMatching(/closed the connection/),
      hint: expect.stringMatching(/blocked or banned our address/),
    })
  })

  it('that resets at once', async () => {
    const report = await check(await startRawServer((socket) => socket.resetAndDestroy()))
    expect(report.failedAt).toMatch(/^(tcp|security)$/)
    expect(report.verdict).toMatch(/reset|closed/)
  })

  it('that closes during the handshake', async () => {
    const header = '\u0013/multistream/1.0.0\n\u0007/noise\n'
    const address = await startRawServer((socket) => {
      let received = ''
      socket.on('data', (chunk) => {
        if (received === '') socket.write(header)
        received += chunk.toString('latin1')
        // Noise's first message follows the header.
        if (received.length > header.length) socket.end()
      })
    })
    const report = await check(address)
    expect(step(report, 'security')).toMatchObject({
      outcome: 'failed',
      text: 'it closed the connection during the noise handshake',
    })
  })
})
