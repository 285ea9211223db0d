import { expect, it } from 'vitest'
import { assignPorts } from '../runner/ports.ts'
import { checkClients, clientSuffix, clientsOf, limitsOf, parseClients } from './clients.ts'
import { opGeth, opGethInit, opReth } from './executionClients.ts'
import { konaNode, opNode } from './rollupClients.ts'

const [PORTS] = assignPorts(9500, 1).nodes
if (PORTS === undefined) throw new Error('there is one node')
const OPTIONS = {
  files: {
    ...{ gethDataDir: 'v/op-geth', jwt: 'jwt.txt', p2pKey: 'key.txt', peerstore: 'v/op-node-peerstore' },
    ...{ genesis: 'genesis.json', rollupConfig: 'rollup.json', l1Config: 'l1.json' },
  },
  ...{ ports: PORTS, host: '127.0.0.1', l1Rpc: 'http://127.0.0.1:9500' },
  staticPeers: ['/ip4/127.0.0.1/tcp/41001/p2p/16Uiu2'],
  door: { ip: '127.0.0.1', port: 41_000 },
  bootnodes: ['enode://aa@127.0.0.1:9514'],
  sequencerRpc: 'http://127.0.0.1:41002',
}
const HERE = import.meta.filename

it('clients are chosen per node, for the rollup node and the execution client', () => {
  const choices = parseClients('verifier1=op-node:/opt/op-node,verifier1=op-geth:/opt/op:geth')
  expect(clientsOf(choices, 'verifier1')).toEqual({
    rollup: { node: 'verifier1', client: 'op-node', path: '/opt/op-node' },
    execution: { node: 'verifier1', client: 'op-geth', path: '/opt/op:geth' },
  })
  expect(clientsOf(choices, 'sequencer')).toEqual({})
  expect(clientSuffix({ rollup: 'op-node', execution: 'op-geth' })).toBe(' (op-node, op-geth)')
  expect(clientSuffix(undefined)).toBe('')
})

it.each([
  ['verifier1', /expected NODE=op-node:PATH/],
  [
    'verifier1=op-nod:/opt/x',
    /unknown client "op-nod", did you mean op-node\? Known are op-node, kona, op-geth, op-reth/,
  ],
])('%s is refused', (text, message) => expect(() => parseClients(text)).toThrow(message))

it.each([
  [`verifier9=op-node:${HERE}`, 'jovian', /there is no node verifier9: expected one of sequencer, verifier1/],
  ['verifier1=op-node:/nowhere', 'jovian', /there is no file \/nowhere/],
  [`verifier1=op-node:${HERE},verifier1=kona:${HERE}`, 'jovian', /verifier1 has another rollup node already/],
  [`verifier1=op-geth:${HERE}`, 'karst', /op-geth does not know karst: its newest fork is jovian/],
  [`sequencer=kona:${HERE}`, 'jovian', /kona cannot make the blocks here/],
] as const)('%s cannot run on %s', (text, fork, message) => {
  expect(() => checkClients(parseClients(text), ['sequencer', 'verifier1'], fork)).toThrow(message)
})

it('clients report what they do not support on a fork', () => {
  const opNodeAlone = clientsOf(parseClients('a=op-node:/x'), 'a')
  expect(limitsOf(opNodeAlone, 'jovian')).toEqual([
    'op-node has no health verdict and no page, and its clock cannot be set',
  ])
  expect(limitsOf(opNodeAlone, 'karst')).toContain('op-node up to v1.19.0 cannot make blocks of karst on devium-geth')
  const kona = clientsOf(parseClients('a=kona:/x,a=op-reth:/y'), 'a')
  expect(limitsOf(kona, 'karst').join('; ')).toMatch(/kona makes no blocks here.*op-reth knows karst from 2\.3\.2 on/)
  expect(limitsOf({}, 'karst')).toEqual([])
})

it('op-node dials the proxies of its node, and its signer key is not in the process list', () => {
  const { args, env } = opNode('/opt/op-node', OPTIONS, {
    execution: { client: 'op-reth', path: '/opt/op-reth' },
    sequencing: { signerKey: '0x5ec2e7', stopped: true },
  })
  expect(args).toEqual(
    expect.arrayContaining([
      ...['--l2.enginekind=reth', '--l1.beacon.ignore', '--p2p.static=/ip4/127.0.0.1/tcp/41001/p2p/16Uiu2'],
      ...['--p2p.advertise.tcp=41000', '--p2p.bootnodes=enode://aa@127.0.0.1:9514', '--sequencer.stopped'],
    ]),
  )
  expect(args.join(' ')).not.toContain('5ec2e7')
  expect(env).toEqual({ OP_NODE_P2P_SEQUENCER_KEY: '0x5ec2e7' })
  const follower = opNode('/opt/op-node', { ...OPTIONS, bootnodes: [] }, { sequencing: undefined })
  // Without this flag op-node dials the bootnodes of public networks.
  expect(follower.args).toContain('--p2p.bootnodes=')
  expect(follower.args.join(' ')).not.toContain('sequencer')
})

it('kona-node finds its peers by discovery', () => {
  const { args } = konaNode('/opt/kona-node', OPTIONS, { l1BlockTime: 2 })
  expect(args[0]).toBe('node')
  expect(args).toEqual(
    expect.arrayContaining([
      '--l1-config-file=l1-kona.json',
      '--l1-slot-duration-override=2',
      '--p2p.bootnodes=enode://aa@127.0.0.1:9514',
      '--port=9510',
    ]),
  )
  expect(args.join(' ')).not.toContain('static')
})

it('execution clients forward transactions, and a sequencer serves the method that limits its blocks', () => {
  expect(opGethInit('/opt/op-geth', OPTIONS.files).args).toEqual([
    ...['init', '--state.scheme=hash', '--datadir=v/op-geth', 'genesis.json'],
  ])
  expect(opGeth('/opt/op-geth', OPTIONS).args).toContain('--rollup.sequencerhttp=http://127.0.0.1:41002')
  expect(opReth('/opt/op-reth', OPTIONS).args).toEqual(
    expect.arrayContaining(['node', '--chain=genesis.json', '--rollup.sequencer-http=http://127.0.0.1:41002']),
  )
  const { sequencerRpc: _, ...sequencer } = OPTIONS
  expect(opGeth('/opt/op-geth', sequencer).args).toContain('--http.api=eth,net,web3,debug,txpool,miner')
})
