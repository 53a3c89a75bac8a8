// Put in by build.js: the style sheets of the modules that a bundle is made of.
declare const STYLE: string;
