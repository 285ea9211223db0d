import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { nodeInTest } from './testUtils/inTest.ts'
import type { TestNode } from './testUtils/testNode.ts'

describe('a peer store that was damaged', () => {
  it('costs neither the start nor the block lists', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'devium-damaged-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const peerStorePath = join(folder, 'store')
    const start = async (): Promise<TestNode> => {
      return nodeInTest({ peerStorePath })
    }
    const stranger = await nodeInTest()
    const first = await start()
    await first.node.blockPeer(stranger.node.peerId)
    await first.node.blockAddr('192.0.2.7')
    await first.node.blockSubnet('2001:db8::/32')
    await first.node.protectPeer(stranger.node.peerId)
    await first.node.stop()
    await writeFile(join(peerStorePath, 'CURRENT'), 'garbage')

    const { node } = await start()
    expect(await node.listBlockedPeers()).toEqual([stranger.node.peerId])
    expect(await node.listBlockedAddrs()).toEqual(['192.0.2.7'])
    expect(await node.listBlockedSubnets()).toEqual(['2001:db8::/32'])
    await expect(node.connectPeer(stranger.address)).rejects.toThrow('gater disallows connection to peer')
  })
})
