import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { peerIdFromString } from '@libp2p/peer-id'
import { ClassicLevel } from 'classic-level'
import { describe, expect, it } from 'vitest'
import { folderInTest, nodeInTest } from './testUtils/inTest.ts'

describe('a damaged peer store', () => {
  it.each(['store', 'store/'])('prevents neither the start nor the loading of the block lists (%s)', async (name) => {
    const peerStorePath = `${await folderInTest()}/${name}`
    const other = await nodeInTest()
    const first = await nodeInTest({ peerStorePath })
    await first.node.blockPeer(other.node.peerId)
    await first.node.blockAddr('192.0.2.7')
    await first.node.blockSubnet('2001:db8::/32')
    await first.node.protectPeer(other.node.peerId)
    await first.node.stop()
    await writeFile(join(peerStorePath, 'CURRENT'), 'garbage')

    const { node } = await nodeInTest({ peerStorePath })
    expect(await node.listBlockedPeers()).toEqual([other.node.peerId])
    expect(await node.listBlockedAddrs()).toEqual(['192.0.2.7'])
    expect(await node.listBlockedSubnets()).toEqual(['2001:db8::/32'])
    await expect(node.connectPeer(other.address)).rejects.toThrow('gater disallows connection to peer')
  })

  it('the peer list still works after a peer record was unreadable', async () => {
    const peerStorePath = join(await folderInTest(), 'store')
    const other = await nodeInTest()
    const level = new ClassicLevel<string, Uint8Array>(peerStorePath, { valueEncoding: 'view' })
    const key = `/peers/${peerIdFromString(other.node.peerId).toCID().toString()}`
    await level.put(key, new Uint8Array(20).fill(0xff))
    await level.close()

    const { node } = await nodeInTest({ peerStorePath })
    expect((await node.peers(false)).totalConnected).toBe(0)
    await node.connectPeer(other.address)
    expect((await node.peers(true)).totalConnected).toBe(1)
  })
})
