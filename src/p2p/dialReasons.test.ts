import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import type { P2pOptions } from './base/options.ts'
import { identityFromRawKey } from './host/identity.ts'
import { nodeInTest } from './testUtils/inTest.ts'
import { CLOSED_PORT } from './testUtils/rawServer.ts'
import { recordedLog } from './testUtils/recordedLog.ts'

// Texts for the operator when a peer cannot be reached: the log for static peers, the error of connectPeer.

/** Starts a node with this static peer, and returns its first report of the failure. */
async function firstComplaint(
  staticPeer: string,
  options: Partial<P2pOptions> = {},
): Promise<{ reason: string; err: string }> {
  const { logger, lines } = recordedLog('info', 'json')
  await nodeInTest({ staticPeers: [staticPeer], ...options }, { logger })
  const complaint = () => lines.find((line) => line.includes('Static peer is not reachable yet, trying again'))
  await until('the complaint', () => complaint() !== undefined)
  return JSON.parse(complaint() ?? '')
}

const REFUSED = expect.stringMatching(/^(closed-early|closed|reset)$/)
const idOf = (key: Uint8Array): string => identityFromRawKey(key).peerId.toString()
const someId = (): string => idOf(new Uint8Array(randomBytes(32)))

describe('a static peer', () => {
  it('a static peer is reported when another peer answers at its address', async () => {
    const other = await nodeInTest()
    const id = someId()
    expect(await firstComplaint(other.address.replace(other.node.peerId, id))).toMatchObject({
      reason: 'other-peer',
      err: `another peer answers there: ${other.node.peerId} instead of ${id}`,
    })
  })

  it('a static peer that has blocked us is reported as one that closes', async () => {
    const other = await nodeInTest()
    const privateKey = new Uint8Array(randomBytes(32))
    await other.node.blockPeer(idOf(privateKey))
    const { reason, err } = await firstComplaint(other.address, { privateKey })
    // The refusal may arrive before the handshake ends.
    expect(reason).toEqual(REFUSED)
    expect(err).not.toMatch(/dials failed/)
  })
})

describe('connectPeer', () => {
  it('names the reason of a failed dial', async () => {
    const { node } = await nodeInTest()
    const id = someId()
    await expect(node.connectPeer(`/ip4/127.0.0.1/tcp/${CLOSED_PORT}/p2p/${id}`)).rejects.toMatchObject({
      code: 'dial-failed',
      message: expect.stringContaining(id),
      details: { reason: 'refused' },
    })
    await expect(node.connectPeer(`/dns4/nobody.invalid/tcp/9222/p2p/${id}`)).rejects.toMatchObject({
      code: 'dial-failed',
      details: { reason: 'name-not-found' },
    })
  })

  it('rejects for a peer that refuses us right after the handshake, known to us or not', async () => {
    const [{ node }, other] = [await nodeInTest(), await nodeInTest()]
    await other.node.blockPeer(node.peerId)
    const refused = async () => {
      for (let dials = 0; dials < 5; dials++) {
        const error = await node.connectPeer(other.address).catch((thrown: unknown) => thrown)
        // The refusal may arrive before the handshake ends.
        expect(error).toMatchObject({ code: 'dial-failed', details: { reason: REFUSED } })
      }
    }
    await refused()
    await other.node.unblockPeer(node.peerId)
    await node.connectPeer(other.address)
    await other.node.blockPeer(node.peerId)
    await until('the end', () => node.connectedPeers().length === 0)
    await refused()
  })
})
