const { existsSync } = require('node:fs');

/** What is needed beside npm's packages, as Debian packages; their names are those of the commands. */
const PACKAGES = ['buildah', 'mmdebstrap'];

/** What is missing for building and running the image, or undefined. test/config/image.js needs it as JavaScript. */
exports.missingForImage = () => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'The image is tried on Linux on x64.';
  if (process.getuid() !== 0) return 'The image is built and run as root.';
  const folders = (process.env.PATH ?? '').split(':');
  const missing = PACKAGES.filter((name) => !folders.some((folder) => existsSync(`${folder}/${name}`)));
  return missing.length > 0 ? `missing on this machine: apt-get install ${missing.join(' ')}` : undefined;
};
