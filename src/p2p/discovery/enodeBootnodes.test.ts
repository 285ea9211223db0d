import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { type Logger, silentLogger } from '../../lib/logger.ts'
import { publicKeyOf } from '../../lib/secp256k1.ts'
import { enodeOf } from '../testUtils/discovery.ts'
import { parseEnode } from './bootnodes.ts'
import { createEnodeBootnodes } from './enodeBootnodes.ts'

const publicKey = publicKeyOf(new Uint8Array(32).fill(7))

/** One bootnode with a DNS name, which the test resolves. */
function setUp() {
  const clock = new ManualClock(1_000_000)
  let ip: string | undefined = '192.0.2.1'
  /** Minutes after the start at which the name was resolved. */
  const resolvedAt: number[] = []
  const contacted: string[] = []
  const logged: string[] = []
  const log = (message: string) => void logged.push(message)
  const logger: Logger = { ...silentLogger, info: log, warn: log }
  const bootnodes = createEnodeBootnodes(
    {
      clock,
      logger,
      async resolve({ udpPort }) {
        resolvedAt.push((clock.now() - 1_000_000) / 60_000)
        if (ip === undefined) throw new Error('no such name')
        return { publicKey, ip, udpPort }
      },
      contact: (endpoint) => contacted.push(endpoint.ip),
      isRunning: () => true,
    },
    [parseEnode(enodeOf(publicKey, 'boot.test:9222'))],
  )
  return {
    bootnodes,
    resolvedAt,
    logged,
    contactedSince: () => contacted.splice(0),
    moveTo: (to: string | undefined) => {
      ip = to
    },
    /** Two rounds a minute. */
    async minutes(count: number, isInTable = false): Promise<void> {
      for (let round = 0; round < count * 2; round++) {
        bootnodes.contactMissing(isInTable ? [{ publicKey }] : [])
        await clock.advance(30_000)
      }
    },
  }
}

describe('a bootnode given by host name', () => {
  it('a silent bootnode is resolved again once a minute, and contacted at its current address', async () => {
    const { bootnodes, resolvedAt, logged, contactedSince, moveTo, minutes } = setUp()
    await minutes(1)
    expect(contactedSince()).toEqual(['192.0.2.1', '192.0.2.1'])
    moveTo('192.0.2.2')
    await minutes(0.5)
    expect(contactedSince()).toEqual(['192.0.2.2'])
    expect([bootnodes.isAt('192.0.2.1'), bootnodes.isAt('192.0.2.2')]).toEqual([false, true])
    expect(logged).toEqual(['Bootnode has moved'])
    await minutes(60)
    expect(resolvedAt).toEqual(Array.from({ length: 62 }, (_, minute) => minute))
  })

  it('a bootnode is contacted at its last address while its name does not resolve', async () => {
    const { resolvedAt, logged, contactedSince, moveTo, minutes } = setUp()
    moveTo(undefined)
    await minutes(1)
    expect(contactedSince()).toEqual([])
    moveTo('192.0.2.1')
    await minutes(0.5)
    moveTo(undefined)
    await minutes(3)
    expect(resolvedAt).toEqual([0, 1, 2, 3, 4])
    expect(new Set(contactedSince())).toEqual(new Set(['192.0.2.1']))
    expect(logged).toEqual([expect.stringContaining('resolved')])
  })

  it('a named bootnode is resolved again a minute after it left the table, and not before', async () => {
    const { resolvedAt, contactedSince, minutes } = setUp()
    await minutes(0.5)
    await minutes(9.5, true)
    expect(contactedSince()).toHaveLength(1)
    await minutes(3)
    expect(resolvedAt).toEqual([0, 10.5, 11.5, 12.5])
  })
})
