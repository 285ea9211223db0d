import { startTestNode } from '../../src/p2p/testUtils/testNode.ts'

// A p2p node that prints its address and runs until it is killed or its parent ends. Argument: KEY(hex).
const [key = ''] = process.argv.slice(2)
const { address } = await startTestNode({
  privateKey: new Uint8Array(Buffer.from(key, 'hex')),
})
console.log(address)
process.stdin.resume().once('end', () => process.exit(0))
