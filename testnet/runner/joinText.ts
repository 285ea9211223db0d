import { binDirectory } from './binDirectory.ts'
import type { Endpoints } from './events.ts'
import { lagoonFiles } from './lagoonFiles.ts'
import type { TestnetLayout } from './layout.ts'
import { type NodePorts, ownAddresses } from './ports.ts'
import { geth, gethInit, type ProgramCall, rollupNode } from './programs.ts'

/**
 * The content of `join.txt`: the commands that join one more node by hand. It stands beside the files that it names. `ports` are
 * the ports of a node after the testnet's own.
 */
export function joinText(endpoints: Endpoints, layout: TestnetLayout, host: string, ports: NodePorts): string {
  const { l1, nodes, joinDir } = endpoints
  const [sequencer] = nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  const name = `node${nodes.length + 1}`
  const files = {
    gethDataDir: `${name}/geth`,
    jwt: `${name}/jwt.txt`,
    p2pKey: `${name}/p2p-key.txt`,
    peerstore: `${name}/peerstore`,
    genesis: 'genesis.json',
    rollupConfig: 'rollup.json',
    l1Config: 'l1.json',
    ...lagoonFiles(endpoints.l2.forks, {
      dependencySet: 'dependency-set.json',
      upgradeBundle: 'upgrade-bundle.json',
    }),
  }
  const options = {
    files,
    ports,
    host: '127.0.0.1',
    l1Rpc: l1.rpc,
    l1Beacon: l1.beacon,
    staticPeers: [sequencer.p2p],
    // Without discovery, because ssh may have to forward the ports, and ssh carries no UDP.
    sequencerRpc: sequencer.ethRpc,
  }
  return `How one more node joins this testnet (chain id ${endpoints.l2.chainId})
${'='.repeat(60)}

The testnet must be running. Type everything in this directory:

    cd ${shellWord(joinDir)}

The programs are in the bin directory of the devium checkout:

    DEVIUM=${shellWord(binDirectory())}

1. A data directory, and a secret of its own that the two programs of the node share, and nobody else reads:

    mkdir -p ${name}
    (umask 077; node -p 'require("node:crypto").randomBytes(32).toString("hex")' > ${files.jwt})

2. The genesis block, once:

${shellCommand(gethInit(files))}

3. The execution client. Leave it running, and go on in another terminal that begins with the lines cd and DEVIUM
   from above:

${shellCommand(geth(options))}

4. The rollup node. It connects to the sequencer, gets new blocks from it, and derives the chain from L1:

${shellCommand(rollupNode(options))}

5. See that it follows: safe and unsafe heads grow, one peer is connected.

    $DEVIUM/devium.mjs status --rpc http://127.0.0.1:${ports.rollupRpc}

To stop: Ctrl-C in the rollup node's terminal first, then in the execution client's. To start again: steps 3 and 4.
Ports in use? Give other numbers to the flags that end in "port" or "tcp", and the Engine API's to --l2 as well.
Never start a second batch submitter: there is one for the chain.

From another machine
--------------------
${otherMachine(endpoints, layout, host)}`
}

function otherMachine(endpoints: Endpoints, layout: TestnetLayout, host: string): string {
  const [sequencer] = endpoints.nodes
  const urls = [endpoints.l1.rpc, endpoints.l1.beacon, sequencer?.ethRpc ?? '']
  const ports = urls.map((url) => new URL(url).port)
  const p2pPort = /\/tcp\/(\d+)/.exec(sequencer?.p2p ?? '')?.[1] ?? ''
  const address = lanAddress() ?? 'THIS-MACHINE'
  const copy = `Copy this directory (its .json files are what is needed), install devium there and set DEVIUM to its bin:

    scp -r ${address}:${shellWord(layout.joinDir)} join && cd join
`
  if (host === '0.0.0.0') {
    return `${copy}
Then follow the steps above with ${address} in place of 127.0.0.1 in --l1, --l1.beacon, --p2p.static and --rollup.sequencerhttp.
`
  }
  if (!host.startsWith('127.')) return `${copy}\nThen follow the steps above as they stand.\n`
  return `${copy}
The testnet listens on ${host} only. Forward its ports over ssh, and the steps above work as they stand:

    ssh -N ${[...ports, p2pPort].map((port) => `-L ${port}:${host}:${port}`).join(' ')} ${address}

(or start the testnet with --host 0.0.0.0 and use its address in place of ${host}).
`
}

/** The address of this machine in its local network. */
export function lanAddress(): string | undefined {
  return ownAddresses().find(({ internal }) => !internal)?.address
}

/** One line if it is short, else one flag a line. Both can be pasted. */
function shellCommand({ program, args }: ProgramCall): string {
  const words = [`$DEVIUM/${program}.mjs`, ...args.map(shellWord)]
  return `    ${words.join(words.length < 6 ? ' ' : ' \\\n        ')}`
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
