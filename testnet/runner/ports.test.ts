import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { assignPorts, checkPortsFree, claimPorts, randomBase } from './ports.ts'

describe('ports', () => {
  it('assigns separate ports to L1, the batch submitter and each node', () => {
    const ports = assignPorts(9500, 2)
    expect(ports).toEqual({
      l1: 9500,
      batcherAdmin: 9501,
      batcherMetrics: 9502,
      l1Engine: 9503,
      beacon: 9504,
      join: 9505,
      nodes: [
        { rollupRpc: 9510, ethRpc: 9511, engineRpc: 9512, metrics: 9513, p2p: 9514, gethMetrics: 9515 },
        { rollupRpc: 9520, ethRpc: 9521, engineRpc: 9522, metrics: 9523, p2p: 9524, gethMetrics: 9525 },
      ],
      spare: { rollupRpc: 9530, ethRpc: 9531, engineRpc: 9532, metrics: 9533, p2p: 9534, gethMetrics: 9535 },
    })
  })

  it('refuses a base port that is too high for all ports', () => {
    expect(() => assignPorts(65_530, 1)).toThrow(
      '--base-port 65530: 1 node, and one to join, need ports up to 65555; the last one is 65535',
    )
  })

  it('reports an address that the machine does not have', async () => {
    const noSuchAddress = /^--host 203\.0\.113\.1: this machine does not have that address; it has 127\.0\.0\.1\b/
    await expect(checkPortsFree(assignPorts(9500, 1), '203.0.113.1')).rejects.toThrow(noSuchAddress)
    await expect(claimPorts(1, '203.0.113.1')).rejects.toThrow(noSuchAddress)
  })

  it('claims ports for one process before anything listens on them', async () => {
    const { l1 } = await claimPorts(1, '127.0.0.1')
    // All port blocks: the shared ports, the node's, and those for a node that joins by hand.
    const taken = [l1, l1 - 20, l1 + 20]
    const other = await claimPorts(1, '127.0.0.1', { nextBase: () => taken.shift() ?? randomBase() })
    expect(taken).toEqual([])
    expect(Math.abs(other.l1 - l1)).toBeGreaterThanOrEqual(30)
  })

  it('names the occupied port and its use', async () => {
    const ports = await claimPorts(1, '127.0.0.1')
    await checkPortsFree(ports, '127.0.0.1')
    const server = createServer().listen(ports.nodes[0]?.metrics, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      await expect(checkPortsFree(ports, '127.0.0.1')).rejects.toThrow(`port ${port} (metrics of node 1) is in use`)
    } finally {
      server.close()
    }
    const socket = createSocket('udp4')
    socket.bind(ports.nodes[0]?.p2p, '127.0.0.1')
    await once(socket, 'listening')
    try {
      const taken = `port ${socket.address().port} (discovery of node 1) is in use`
      await expect(checkPortsFree(ports, '127.0.0.1')).rejects.toThrow(taken)
    } finally {
      socket.close()
    }
  })
})
