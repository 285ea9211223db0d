import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createP2pEvents } from '../base/events.ts'
import { parsePeerId } from '../host/multiaddrs.ts'
import { folderInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { openAccessListFile } from './accessListStore.ts'
import { AccessLists } from './accessLists.ts'
import { createGater } from './gater.ts'

const PEER = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'

describe('AccessLists', () => {
  it.each([
    ['10.1.2.3', true],
    ['::ffff:10.1.2.3', true],
    ['10.1.2.4', false],
    ['192.168.77.1', true],
    ['192.169.0.1', false],
    ['fd12::1', true],
    ['fe80::1', false],
    ['example.org', false],
  ])('with one blocked address and two blocked subnets, %s is blocked: %s', (ip, blocked) => {
    const lists = new AccessLists()
    lists.blockAddr('10.1.2.3')
    lists.blockSubnet('192.168.0.0/16')
    lists.blockSubnet('fd00::/8')
    expect(lists.isAddrBlocked(ip)).toBe(blocked)
  })

  it('unblocks addresses and subnets in any spelling', () => {
    const lists = new AccessLists()
    lists.blockAddr('FD00:0::1')
    lists.blockSubnet('10.9.8.7/8')
    lists.unblockAddr('fd00::1')
    lists.unblockSubnet('10.0.0.0/8')
    expect(lists.listAddrs()).toEqual([])
    expect(lists.listSubnets()).toEqual([])
  })

  it('lifts expired bans, and returns them', () => {
    const lists = new AccessLists()
    lists.banPeer('a', { expiryMs: 5_000, reason: 'x' })
    lists.banPeer('b', { expiryMs: 6_000, reason: 'x' })
    const active = (nowMs: number) => lists.activeBans(nowMs).map(([peer]) => peer)
    expect(active(4_999)).toEqual(['a', 'b'])
    expect(active(5_000)).toEqual(['b'])
    expect(lists.liftExpiredBans(4_999)).toEqual([])
    expect(lists.liftExpiredBans(5_000)).toEqual(['a'])
    expect(active(0)).toEqual(['b'])
  })

  it('keeps a limited number of bans, and evicts the ban that expires first', () => {
    const lists = new AccessLists()
    lists.banPeer('soon', { expiryMs: 1, reason: 'x' })
    for (let n = 0; n < 1_000; n++) lists.banPeer(`peer${n}`, { expiryMs: 1_000 + n, reason: 'x' })
    expect(lists.activeBans(0)).toHaveLength(1_000)
    expect(lists.peerBan('soon', 0)).toBeUndefined()
  })
})

describe('openAccessListFile', () => {
  const clock = new ManualClock(1_000)

  it('overlapping saves leave the last change on disk', async () => {
    const path = join(await folderInTest(), 'lists.json')
    const store = await openAccessListFile(path, { logger: silentLogger, clock })
    const saves = [1, 2, 3, 4, 5].map((last) => {
      store.lists.blockAddr(`1.1.1.${last}`)
      return store.save()
    })
    await Promise.all(saves)
    expect(JSON.parse(await readFile(path, 'utf8')).blockedAddrs).toHaveLength(5)
  })

  it.each(['{"version":1,', '[]', '{"version":2}', '{"version":1,"blockedPeers":[5]}', ''])(
    'moves a damaged file aside and logs it: %j',
    async (content) => {
      const folder = await folderInTest()
      const path = join(folder, 'lists.json')
      await writeFile(path, content)
      const { logger, lines } = recordedLog('error')
      const store = await openAccessListFile(path, { logger, clock })
      expect(store.lists.toJson()).toEqual(new AccessLists().toJson())
      expect(await readdir(folder)).toEqual(['lists.json', 'lists.json.corrupt-1000'])
      expect(lines).toHaveLength(1)
    },
  )

  it('logs a failed write once, continues, and saves when writing works again', async () => {
    const path = join(await folderInTest(), 'lists.json')
    await mkdir(`${path}.tmp`)
    const { logger, lines } = recordedLog()
    const store = await openAccessListFile(path, { logger, clock })
    expect(lines).toEqual([expect.stringContaining('cannot be written')])
    store.lists.blockAddr('1.2.3.4')
    await expect(store.save()).rejects.toMatchObject({ code: 'EISDIR' })
    await store.saveAgain()
    expect(lines).toHaveLength(1)

    await rm(`${path}.tmp`, { recursive: true })
    await store.saveAgain()
    expect(lines.slice(1)).toEqual([expect.stringContaining('can be written again')])
    expect(JSON.parse(await readFile(path, 'utf8')).blockedAddrs).toEqual(['1.2.3.4'])
  })

  it('refuses to start if the block list cannot be read', async () => {
    const path = join(await folderInTest(), 'lists.json')
    await mkdir(path)
    const opening = openAccessListFile(path, { logger: silentLogger, clock })
    await expect(opening).rejects.toThrow(errorWith('usage', path, '--p2p.peerstore.path'))
  })
})

it('createGater refuses to dial blocked peers and addresses, and banned peers until the ban expires', async () => {
  const lists = new AccessLists()
  const clock = new ManualClock(1_000)
  const calls: string[] = []
  const events = createP2pEvents({ logger: silentLogger })
  events.on('unbanned', () => calls.push('unbanned'))
  const gater = createGater({
    lists,
    allowed: { permits: () => true },
    clock,
    onConnection: () => {},
    limits: { refuse: () => undefined, onUpgraded: () => {} },
    events,
    peers: { connected: () => [], isConnected: () => false, isProtected: () => false },
    maxPeers: 2,
    metrics: { onDial: (allowed) => calls.push(allowed ? 'allowed' : 'refused'), onAccept: () => {} },
  })
  const deny = (place: string) => gater.denyDialMultiaddr?.(multiaddr(`${place}/tcp/1`))
  const denyPeer = () => gater.denyDialPeer?.(parsePeerId(PEER))
  lists.blockAddr('1.2.3.4')
  lists.blockSubnet('10.0.0.0/8')
  const refused = ['/ip4/1.2.3.4', '/ip4/10.9.9.9', '/ip6/::ffff:10.9.9.9']
  expect([...refused, '/ip4/11.0.0.1', '/dns4/example.org'].filter(deny)).toEqual(refused)
  lists.banPeer(PEER, { expiryMs: 2_000, reason: 'test' })
  expect(denyPeer()).toBe(true)
  calls.length = 0
  await clock.advance(1_000)
  expect([denyPeer(), denyPeer()]).toEqual([false, false])
  lists.blockedPeers.add(PEER)
  expect(denyPeer()).toBe(true)
  expect(calls).toEqual(['unbanned', 'allowed', 'allowed', 'refused'])
})
