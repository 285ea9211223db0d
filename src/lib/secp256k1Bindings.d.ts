// The package's main entry silently falls back to JavaScript. Its native entry has no type declaration.
declare module 'secp256k1/bindings.js' {
  import secp256k1 = require('secp256k1')
  export default secp256k1
}
