import { multiaddr } from '@multiformats/multiaddr'
import fc from 'fast-check'
import { Key } from 'interface-datastore'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { DecodeError, UsageError } from '../lib/errors.ts'
import { silentLogger } from '../lib/logger.ts'
import { publicKeyOf } from '../lib/secp256k1.ts'
import { propertyRuns } from '../lib/testUtils/propertyRuns.ts'
import { P2pError } from './base/errors.ts'
import { parseEnode } from './discovery/bootnodes.ts'
import { ipOf, parsePeerAddress, parsePeerId } from './host/multiaddrs.ts'
import { parsePrivateKeyHex } from './host/privateKey.ts'
import { defaultRouters } from './nat/defaultRoute.ts'
import { AccessLists } from './peers/accessLists.ts'
import type { EntryStore } from './reputation/peerEntries.ts'
import { openPeerHistories } from './reputation/peerHistory.ts'
import { openScoreBook } from './reputation/scoreBook.ts'
import { decodeRequest } from './sync/payloadByNumber.ts'
import { decodeResponse, encodeResponse } from './testUtils/responses.ts'
import { testBlock, testConfig } from './testUtils/testChain.ts'
import { throwsOnly } from './testUtils/throwsOnly.ts'

/**
 * Decoders of this room without a property test beside them. For any input they return or throw their own errors, and a
 * round trip restores the value.
 */

const PEER = '16Uiu2HAm8xBjKagcN6Bf7msT6V5zPrmWi4wSv96CWuiBrpXMMHRC'
const config = testConfig()
const bytes = (maxLength: number) => fc.uint8Array({ maxLength })

/** Careless or hostile text: modified pieces of the expected forms. */
function near(...samples: readonly string[]): fc.Arbitrary<string> {
  const changed = fc
    .tuple(fc.constantFrom(...samples), fc.nat(120), fc.string({ maxLength: 4 }), fc.nat(3))
    .map(([sample, at, text, cut]) => sample.slice(0, at) + text + sample.slice(at + cut))
  return fc.oneof(fc.string({ maxLength: 80 }), changed)
}

it('decoding arbitrary bytes as a block request throws only DecodeErrors', () => {
  const request = fc.oneof(bytes(12), fc.uint8Array({ minLength: 8, maxLength: 8 }))
  fc.assert(fc.property(request, (input) => throwsOnly([DecodeError], () => decodeRequest(input))))
})

it('decoding a block answer with arbitrary or changed bytes throws only DecodeErrors', () => {
  const read = (input: Uint8Array) => () => decodeResponse(input, config, block.payload.timestamp)
  const block = testBlock(config)
  const good = encodeResponse(block, config)
  const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255))
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(good.length), (changes, length) => {
      const damaged = good.slice(0, length)
      for (const [at, value] of changes) if (at < length) damaged[at] = value
      throwsOnly([DecodeError], read(damaged))
    }),
    { numRuns: propertyRuns(1_000) },
  )
  fc.assert(
    fc.property(bytes(200), (input) => throwsOnly([DecodeError], read(input))),
    { numRuns: propertyRuns(500) },
  )
})

describe('parsers of names and addresses', () => {
  it('parsing a peer name throws only DecodeErrors', () => {
    fc.assert(
      fc.property(near(PEER, `/ip4/1.2.3.4/tcp/9222/p2p/${PEER}`), (text) => {
        throwsOnly([DecodeError], () => parsePeerId(text))
        throwsOnly([DecodeError, P2pError], () => parsePeerAddress(text))
      }),
      { numRuns: propertyRuns(500) },
    )
  })
  it('names and addresses survive formatting and parsing', () => {
    const ip = fc.oneof(
      fc.ipV4().map((text) => `/ip4/${text}`),
      fc.ipV6().map((text) => `/ip6/${text}`),
      fc.domain().map((text) => `/dns4/${text}`),
    )
    fc.assert(
      fc.property(ip, fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        const { address, peerId } = parsePeerAddress(`${host}/tcp/${port}/p2p/${PEER}`)
        expect(peerId.toString()).toBe(PEER)
        expect(parsePeerAddress(address.toString()).address.equals(address)).toBe(true)
        expect(ipOf(address) === undefined).toBe(host.startsWith('/dns'))
      }),
    )
  })
  it('decoding an address in bytes returns an IP or undefined and never throws', () => {
    fc.assert(
      fc.property(bytes(60), (input) => {
        let address: ReturnType<typeof multiaddr>
        try {
          address = multiaddr(input)
        } catch {
          return
        }
        ipOf(address)
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })
  it('parsing a bootnode throws only DecodeErrors', () => {
    const key = Buffer.from(publicKeyOf(new Uint8Array(32).fill(7), false).subarray(1)).toString('hex')
    fc.assert(
      fc.property(near(`enode://${key}@1.2.3.4:0?discport=30301`, `enode://${key}@host.example:30305`), (text) =>
        throwsOnly([DecodeError], () => parseEnode(text)),
      ),
      { numRuns: propertyRuns(500) },
    )
  })
  it('parsing any routing table returns only IPv4 addresses', () => {
    const line = 'eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0'
    fc.assert(
      fc.property(fc.array(near(line), { maxLength: 4 }), (lines) => {
        for (const router of defaultRouters(lines.join('\n'))) expect(router).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
      }),
    )
  })
})

it('parsing a private key throws only UsageErrors, and valid keys survive a round trip', () => {
  fc.assert(
    fc.property(near('ab'.repeat(32), `0x${'01'.repeat(32)}`), (text) =>
      throwsOnly([UsageError], () => parsePrivateKeyHex(text)),
    ),
  )
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (raw) => {
      expect(parsePrivateKeyHex(` 0x${Buffer.from(raw).toString('hex')}\n`)).toEqual(raw)
    }),
  )
})

describe('stored records', () => {
  it('the stored block list survives a round trip, and other input throws only DecodeErrors', () => {
    const ban = fc.record({ expiryMs: fc.nat(), reason: fc.string({ maxLength: 20 }) })
    // Peer ids are base58.
    const peer = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]+$/)
    fc.assert(
      fc.property(fc.array(fc.tuple(peer, ban)), fc.array(fc.ipV4()), fc.array(fc.ipV6()), (bans, ips, others) => {
        const lists = new AccessLists()
        for (const [peer, entry] of bans) lists.banPeer(peer, entry)
        for (const ip of [...ips, ...others]) lists.blockAddr(ip)
        const json: unknown = JSON.parse(JSON.stringify(lists.toJson()))
        expect(AccessLists.fromJson(json).toJson()).toEqual(lists.toJson())
      }),
    )
    const members = fc.dictionary(
      fc.constantFrom(...Object.keys(new AccessLists().toJson())),
      fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(1), fc.constant([]), fc.constant({})),
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), members), (json) =>
        throwsOnly([DecodeError], () => AccessLists.fromJson(json)),
      ),
      { numRuns: propertyRuns(500) },
    )
  })

  it('damaged peer records are parsed or dropped', async () => {
    const json = fc.jsonValue({ maxDepth: 4 }).map((value) => new Uint8Array(Buffer.from(JSON.stringify(value))))
    const likely = fc
      .record(
        {
          lastUpdate: fc.oneof(fc.double(), fc.jsonValue()),
          peerScores: fc.jsonValue({ maxDepth: 3 }),
          counters: fc.jsonValue({ maxDepth: 3 }),
          kind: fc.string(),
          count: fc.integer(),
        },
        { requiredKeys: [] },
      )
      .map((value) => new Uint8Array(Buffer.from(JSON.stringify([value]))))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(bytes(60), json, likely), { maxLength: 5 }), async (values) => {
        const datastore = stored(values)
        const clock = new ManualClock(1_000_000)
        const histories = await openPeerHistories({ clock, score: () => 0 }, datastore)
        histories.record(PEER, { kind: 'connected', reason: 'inbound' })
        expect(histories.peers()).toContain(PEER)
        const book = await openScoreBook({ clock, logger: silentLogger }, datastore, { retainMs: 1_000 })
        expect(book.all().length).toBeLessThanOrEqual(values.length)
      }),
      { numRuns: propertyRuns(300) },
    )
  })
})

/** A datastore with these bytes under every queried prefix. */
function stored(values: readonly Uint8Array[]): EntryStore {
  return {
    async *query({ prefix = '' }: { prefix?: string }) {
      for (const [index, value] of values.entries()) yield { key: new Key(`${prefix}peer${index}`), value }
    },
    batch: () => ({ put: () => {}, delete: () => {}, commit: async () => {} }),
  }
}
