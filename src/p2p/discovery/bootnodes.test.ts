import { SignableENR } from '@chainsafe/enr'
import { describe, expect, it } from 'vitest'
import { decompressPublicKey, publicKeyOf } from '../../lib/secp256k1.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { bootnodesOf } from '../../rollup/networks/bootnodes.ts'
import { parseBootnodes, parseEnode, resolveEnode } from './bootnodes.ts'
import { parseRecord } from './discv5.ts'

const publicKey = publicKeyOf(new Uint8Array(32).fill(7))
const key = Buffer.from(decompressPublicKey(publicKey).subarray(1)).toString('hex')

describe('parseEnode', () => {
  it.each([
    [`enode://${key}@1.2.3.4:9222`, '1.2.3.4', 9222],
    [`enode://${key}@1.2.3.4:0?discport=30305`, '1.2.3.4', 30305],
    [`enode://${key}@bootnode.conduit.xyz:0?discport=30301`, 'bootnode.conduit.xyz', 30301],
    [`enode://${key.toUpperCase()}@[2001:db8::1]:30303`, '2001:db8::1', 30303],
  ])('reads %s', (text, host, udpPort) => {
    expect(parseEnode(text)).toMatchObject({ kind: 'enode', host, udpPort })
    expect(Buffer.from(parseEnode(text).publicKey)).toEqual(Buffer.from(publicKey))
  })

  it.each([
    [`enode://${key.slice(2)}@1.2.3.4:9222`, 126],
    [`enode://${'ab'.repeat(64)}@1.2.3.4:9222`, 'public key'],
    [`enode://${key.slice(0, 126)}${key.endsWith('00') ? '02' : '00'}@1.2.3.4:9222`, 'public key'],
    [`enode://${key}@1.2.3.4`, '<port>'],
    [`enode://${key}@1.2.3.4:0`, 'port'],
    [`enode://${key}@1.2.3.4:9222?discport=70000`, 'port'],
    [`enode://${key}@:9222`, '<host>'],
  ])('refuses %s', (text, part) => {
    expect(() => parseEnode(text)).toThrow(errorWith('decode', part))
  })
})

describe('parseBootnodes', () => {
  it('parses all well-known bootnodes, signatures included', () => {
    for (const l1ChainId of [1n, 11_155_111n]) {
      const texts = bootnodesOf(l1ChainId)
      expect(parseBootnodes(texts, parseRecord).map((bootnode) => bootnode.text)).toEqual(texts)
    }
  })

  it('skips blank entries, and names an invalid one by its position', () => {
    expect(parseBootnodes(['', '  '], parseRecord)).toEqual([])
    const good = `enode://${key}@1.2.3.4:9222`
    for (const bad of ['http://x', 'enr:-IS4QHCYrYZbAKWCBRlAy5zzaDZXJBGkcnh4MHcBFZntXNFrdvJjX04jRzjz', 'enode://12']) {
      const parse = (): unknown => parseBootnodes([good, bad], parseRecord)
      expect(parse).toThrow(errorWith('usage', '--p2p.bootnodes', 'record 2'))
    }
  })

  it.each([
    [{}, ['IP address', 'port']],
    [{ udp: Uint8Array.of(1, 2) }, ['IP address']],
    [{ ip: Uint8Array.of(1, 2, 3, 4) }, ['port']],
    [{ ip: Uint8Array.of(1, 2, 3, 4), udp6: Uint8Array.of(1, 2) }, ['port']],
  ])('refuses a record that holds only %j, and names the record', (places, missing) => {
    const text = SignableENR.createV4(new Uint8Array(32).fill(7), places).encodeTxt()
    const problem = errorWith('usage', '--p2p.bootnodes', 'record 2', ...missing, text.slice(-16))
    expect(() => parseBootnodes(['', text], parseRecord)).toThrow(problem)
  })

  it.each([
    { ip6: new Uint8Array(16).fill(1), udp6: Uint8Array.of(1, 2) },
    { ip: Uint8Array.of(1, 2, 3, 4), tcp: Uint8Array.of(1, 2) },
  ])('accepts a record with %j', (places) => {
    const text = SignableENR.createV4(new Uint8Array(32).fill(7), places).encodeTxt()
    expect(parseBootnodes([text], parseRecord)).toEqual([{ kind: 'enr', text }])
  })
})

describe('resolveEnode', () => {
  const named = parseEnode(`enode://${key}@boot.test:9222`)
  const both = async () => [
    { address: '2001:db8::1', family: 6 },
    { address: '192.0.2.1', family: 4 },
  ]

  it('returns IPs unchanged, and resolves names', async () => {
    const reach = { hasIp4: true, hasIp6: true }
    expect((await resolveEnode(parseEnode(`enode://${key}@192.0.2.7:9222`), reach)).ip).toBe('192.0.2.7')
    expect((await resolveEnode(parseEnode(`enode://${key}@localhost:9222`), reach)).ip).toMatch(/^(127\.0\.0\.1|::1)$/)
  })

  it('returns the first address of a family that this node can reach', async () => {
    expect((await resolveEnode(named, { hasIp4: true, hasIp6: true }, both)).ip).toBe('2001:db8::1')
    expect((await resolveEnode(named, { hasIp4: true, hasIp6: false }, both)).ip).toBe('192.0.2.1')
    const only6 = async () => (await both()).slice(0, 1)
    await expect(resolveEnode(named, { hasIp4: true, hasIp6: false }, only6)).rejects.toThrow(
      errorWith('decode', '2001:db8::1'),
    )
  })
})
